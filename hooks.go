package redlock

import (
	"context"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/testhook"
)

func init() {
	core.Of = func(ctx context.Context, client any) *core.Client {
		c := client.(*Client)
		c.check(ctx)
		return c.inside()
	}
	core.CheckOneHolder = func(client, opts any) error { return client.(*Client).checkOneHolder(opts.([]LockOption)) }
	testhook.Clock = func(now func() clock.Instant) any {
		return clientOption(func(c *config) { c.now = now })
	}
	testhook.Unanswered = func(client any, master int) int { return client.(*Client).masters[master].Unanswered() }
	testhook.Owner = func(lock any, name string) (owner string) {
		switch l := lock.(type) {
		case *Lock:
			return l.h.ID
		case *Locks:
			for _, h := range l.all() { // of one that was had again, the last counts
				if h.Name == name {
					owner = h.ID
				}
			}
		}
		return owner
	}
	testhook.RenewNow = func(client any, name string) { client.(*Client).holds.RenewNow(name) }
}

// inside is what package admin sees of the client.
func (c *Client) inside() *core.Client {
	return &core.Client{
		Prefix:         c.prefix,
		RequestTimeout: c.requestTimeout,
		Now:            c.now,
		Masters:        c.masters,
		Members:        c.members,
		Closed:         c.closed,
		Enter: func(ctx context.Context) (func(), error) {
			if err := c.enter(ctx); err != nil {
				return nil, err
			}
			return c.calls.Done, nil
		},
		Go:        c.calls.Go,
		CheckName: validateName,
		MayAsk: func(ctx context.Context, op, name string) error {
			return c.mayAsk(ctx, op, name, nil)
		},
		FirstView: func(ctx context.Context, op string) (*membership.View, error) {
			return c.firstView(ctx, op, noName)
		},
		UnknownMembers:     func(op string) error { return c.unknownMembers(op, noName) },
		WhileMembersChange: c.whileMembersChange,
		ForceUnlock:        c.forceUnlock,
	}
}
