package fence

import "context"

type contextKey struct{}

// WithToken returns a context that carries token, so that it reaches the guard
// through code that knows nothing of locks. It replaces a token that ctx
// already carries; the zero Token hides it.
func WithToken(ctx context.Context, token Token) context.Context {
	return context.WithValue(ctx, contextKey{}, token)
}

// FromContext returns the token that ctx carries, and whether it carries one.
// The token is never zero when the answer is true.
func FromContext(ctx context.Context) (Token, bool) {
	token, _ := ctx.Value(contextKey{}).(Token)
	return token, token.Valid()
}
