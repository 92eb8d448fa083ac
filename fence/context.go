package fence

import "context"

type contextKey struct{}

// tokenContext carries a token. context.WithValue is not used, because it makes two
// allocations.
type tokenContext struct {
	context.Context
	token Token
}

func (c *tokenContext) Value(key any) any {
	if key == (contextKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// WithToken returns a context that carries token, so that the token reaches the guard through code that has no access
// to the lock. WithToken replaces a token that ctx already carries. With the zero Token, the new context carries none.
func WithToken(ctx context.Context, token Token) context.Context {
	return &tokenContext{ctx, token}
}

// FromContext returns the token that ctx carries, and whether it carries one. The token is not
// zero if the result is true.
func FromContext(ctx context.Context) (Token, bool) {
	c, ok := ctx.Value(contextKey{}).(*tokenContext)
	if !ok {
		return 0, false
	}
	return c.token, c.token.Valid()
}
