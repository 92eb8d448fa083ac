package fence_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/fence"
)

func TestStaleErrorIsErrStale(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("order not saved: %w", &fence.StaleError{Resource: "orders/17", Token: 33, Highest: 34})
	if !errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrInvalid) {
		t.Errorf("%v must be fence.ErrStale and nothing else", err)
	}
	var stale *fence.StaleError
	if !errors.As(err, &stale) || stale.Highest != 34 {
		t.Errorf("%v does not give its *fence.StaleError", err)
	}
	for _, fact := range []string{"33", "34", `"orders/17"`} {
		if !strings.Contains(err.Error(), fact) {
			t.Errorf("%q does not name %s", err, fact)
		}
	}
}

func TestValidateNamesField(t *testing.T) {
	t.Parallel()
	if err := fence.Validate("orders/17", 1); err != nil {
		t.Errorf("Validate of good input = %v", err)
	}
	for field, err := range map[string]error{
		"resource": fence.Validate("", 1),
		"token":    fence.Validate("orders/17", 0),
	} {
		if !errors.Is(err, fence.ErrInvalid) || !strings.Contains(err.Error(), field) {
			t.Errorf("bad %s: got %v, want a fence.ErrInvalid that names it", field, err)
		}
	}
}
