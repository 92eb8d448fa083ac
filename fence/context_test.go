package fence_test

import (
	"context"
	"testing"

	"github.com/redlock-go/redlock/fence"
)

func TestContextCarriesToken(t *testing.T) {
	t.Parallel()
	if token, ok := fence.FromContext(t.Context()); ok || token != 0 {
		t.Errorf("FromContext of a plain context = %d, %t", token, ok)
	}
	outer := fence.WithToken(t.Context(), 33)
	inner, cancel := context.WithCancel(fence.WithToken(outer, 34))
	defer cancel()
	for want, ctx := range map[fence.Token]context.Context{33: outer, 34: inner} {
		if token, ok := fence.FromContext(ctx); !ok || token != want {
			t.Errorf("FromContext = %d, %t, want %d", token, ok, want)
		}
	}
	if token, ok := fence.FromContext(fence.WithToken(inner, 0)); ok {
		t.Errorf("FromContext = %d, %t, want none: the zero token hides the others", token, ok)
	}
}
