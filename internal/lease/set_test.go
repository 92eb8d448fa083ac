package lease

import (
	"context"
	"slices"
	"testing"
)

// Leases that end together are over in goroutines of their own. The last of them may come to end
// the context before the first, and says why the first one did.
func TestASetThatExpiresAtOnceSaysSo(t *testing.T) {
	t.Parallel()
	holds := holdOf(3).holds
	holds.Client.Begin = func() (func(), bool) { return nil, false }
	s := holds.NewSet(context.Background())
	s.live, s.complete = 2, true
	var causes []error
	s.cancel = func(cause error) {
		if len(causes) == 0 {
			causes = append(causes, nil) // the first, which is not through
			s.ended(ErrExpired)
			causes[0] = cause
			return
		}
		causes = append(causes, cause)
	}
	s.ended(ErrExpired)
	if want := []error{ErrExpired, ErrExpired}; !slices.Equal(causes, want) {
		t.Errorf("the context ended with %v, want %v", causes, want)
	}
}
