package lease

import (
	"context"

	"github.com/redlock-go/redlock/fence"
)

// holdContext is the context of a hold. FromContext finds the hold in it.
type holdContext struct {
	context.Context
	hold *Hold
}

type holdKey struct{}

// contextIn returns a context, derived from ctx, that carries the hold and its token.
func (h *Hold) contextIn(ctx context.Context) context.Context {
	return h.NewContext(fence.WithToken(ctx, h.Token))
}

// NewContext returns a context, derived from ctx, that carries the hold.
func (h *Hold) NewContext(ctx context.Context) context.Context { return &holdContext{ctx, h} }

func (c *holdContext) Value(key any) any {
	switch {
	case key == (holdKey{}):
		return c
	case c.hold.Reads.Load():
		return fence.WithToken(c.Context, 0).Value(key) // c.Context may still carry the writer's token, from before a Downgrade
	}
	return c.Context.Value(key)
}

// FromContext returns the hold of name that ctx was derived from, or nil. A released hold does not
// count. A lost hold counts, so that no call acquires the lock afresh without noticing the loss.
func (s *Holds) FromContext(ctx context.Context, name string) *Hold {
	for {
		inner, ok := ctx.Value(holdKey{}).(*holdContext)
		if !ok {
			return nil
		}
		if h := inner.hold; h.holds == s && h.Name == name && h.Over() != ErrReleased {
			return h
		}
		ctx = inner.Context
	}
}
