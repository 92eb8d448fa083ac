package fence_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redlock-go/redlock/fence"
)

// The notes of all versions, and of programs in other languages, must be the same. The figures were
// computed with another program.
func TestLockNameHash(t *testing.T) {
	t.Parallel()
	for name, hash := range map[string]fence.Token{
		"hot":           9177515911875300551,
		"cold":          7093977471987617788,
		"accounts/17":   8327291126713774782,
		"licence~slot2": 6750949458316450745,
		"Straße":        6387080140136126246,
		" ":             8550620393190949631,
	} {
		var guard fence.Memory
		if err := fence.CheckLockName(t.Context(), &guard, "db", name); err != nil {
			t.Errorf("check of %q: %v", name, err)
		}
		var stale *fence.StaleError
		if err := guard.Claim(t.Context(), "redlock/lockname/db", 1); !errors.As(err, &stale) || stale.Highest != hash {
			t.Errorf("the note of %q: got %v, want the hash %d", name, err, hash)
		}
	}
}

func TestErrOtherLockNameText(t *testing.T) {
	t.Parallel()
	var guard fence.Memory
	if err := fence.CheckLockName(t.Context(), &guard, "db", "hot"); err != nil {
		t.Fatal(err)
	}
	err := fence.CheckLockName(t.Context(), &guard, "db", "cold")
	if !errors.Is(err, fence.ErrOtherLockName) || errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrInvalid) {
		t.Fatalf("%v must be fence.ErrOtherLockName and nothing else", err)
	}
	for _, fact := range []string{`"db"`, `"cold"`, `"redlock/lockname/db"`, "9177515911875300551", "7093977471987617788"} {
		if !strings.Contains(err.Error(), fact) {
			t.Errorf("%q does not contain %s", err, fact)
		}
	}
}

func TestCheckLockNameInvalid(t *testing.T) {
	t.Parallel()
	var guard fence.Memory
	for field, err := range map[string]error{
		"guard":    fence.CheckLockName(t.Context(), nil, "db", "hot"),
		"resource": fence.CheckLockName(t.Context(), &guard, "", "hot"),
		"lockName": fence.CheckLockName(t.Context(), &guard, "db", ""),
	} {
		if !errors.Is(err, fence.ErrInvalid) || !strings.Contains(err.Error(), field) {
			t.Errorf("bad %s: got %v, want a fence.ErrInvalid that names it", field, err)
		}
	}
}

// guardFunc is a guard that does what a test needs.
type guardFunc func(ctx context.Context, resource string, token fence.Token) error

func (f guardFunc) Claim(ctx context.Context, resource string, token fence.Token) error {
	return f(ctx, resource, token)
}

// If the noted name is not known because of an error, CheckLockName returns that error, and not
// ErrOtherLockName.
func TestCheckLockNameReturnsGuardError(t *testing.T) {
	t.Parallel()
	away := errors.New("the store is away")
	for what, failed := range map[string]error{
		"the first claim fails":                  away,
		"the guard refuses the resource":         fence.ErrInvalid,
		"the refusal does not have both tokens":  &fence.StaleError{Resource: "redlock/lockname/db", Token: 1},
		"the refusal is not a *fence.StaleError": fence.ErrStale,
	} {
		err := fence.CheckLockName(t.Context(), guardFunc(func(context.Context, string, fence.Token) error { return failed }), "db", "hot")
		if !errors.Is(err, failed) || errors.Is(err, fence.ErrOtherLockName) || !strings.Contains(err.Error(), `"db"`) {
			t.Errorf("%s: got %v, want the guard's error, and the resource", what, err)
		}
	}

	var guard fence.Memory
	secondFails := guardFunc(func(ctx context.Context, resource string, token fence.Token) error {
		if token != 1 {
			return away
		}
		return guard.Claim(ctx, resource, token)
	})
	if err := fence.CheckLockName(t.Context(), secondFails, "db", "hot"); !errors.Is(err, away) {
		t.Errorf("the second claim fails: got %v, want the guard's error", err)
	}
	for _, name := range []string{"hot", "hot"} { // the check can be repeated
		if err := fence.CheckLockName(t.Context(), &guard, "db", name); err != nil {
			t.Errorf("check after one that failed: %v", err)
		}
	}
}

// If the first checks of two names overlap, one name gets the error, at the latest at its second check.
func TestCheckLockNameConcurrent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var guard fence.Memory
		names := rapid.SliceOfNDistinct(rapid.StringN(1, 20, -1), 2, 2, rapid.ID).Draw(t, "names")
		check := func(guard fence.Guard, name string) error {
			err := fence.CheckLockName(context.Background(), guard, "db", name)
			if err != nil && !errors.Is(err, fence.ErrOtherLockName) {
				t.Fatalf("check of %q: %v", name, err)
			}
			return err
		}

		// The whole check of one name runs between the two claims of the other name.
		between := guardFunc(func(ctx context.Context, resource string, token fence.Token) error {
			if token != 1 {
				if err := check(&guard, names[1]); err != nil {
					t.Fatalf("a name was noted by token 1: %v", err)
				}
			}
			return guard.Claim(ctx, resource, token)
		})
		first := check(between, names[0])
		errs := []error{check(&guard, names[0]), check(&guard, names[1])}
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("checks of %q again: %v; want that exactly one name passes", names, errs)
		}
		if first != nil && errs[0] == nil {
			t.Fatalf("%q was refused for another name, and then recorded", names[0])
		}
	})
}
