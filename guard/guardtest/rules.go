package guardtest

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/redlock-go/redlock/fence"
)

// The checks that need one goroutine; races.go has the others.

func lowerRefused(ctx context.Context, store Store, resource string) error {
	if err := store.Write(ctx, resource, 34, "new"); err != nil {
		return fmt.Errorf("first write with token 34: %w", err)
	}
	if err := wantStale(store.Write(ctx, resource, 33, "old"), resource, 33, 34); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if err := wantStale(store.Claim(ctx, resource, 33), resource, 33, 34); err != nil {
		return fmt.Errorf("claim: %w", err)
	}
	if err := wantStale(store.Fail(ctx, resource, 1, "older"), resource, 1, 34); err != nil {
		return fmt.Errorf("write that would fail if it passed: %w", err)
	}
	return wantValue(ctx, store, resource, "new")
}

func equalPasses(ctx context.Context, store Store, resource string) error {
	return errors.Join(
		wantPass(store.Claim(ctx, resource, 34), "first claim"),
		wantPass(store.Claim(ctx, resource, 34), "second claim with the same token"),
		wantPass(store.Write(ctx, resource, 34, "1"), "first write with the claimed token"),
		wantPass(store.Write(ctx, resource, 34, "2"), "second write with the claimed token"),
		wantPass(store.Claim(ctx, resource, 34), "claim after the writes"),
		wantValue(ctx, store, resource, "2"),
	)
}

func gapsAllowed(ctx context.Context, store Store, resource string) error {
	for _, token := range []fence.Token{1, 2, 1_000, 1_000_000_007} {
		if err := store.Write(ctx, resource, token, token.String()); err != nil {
			return fmt.Errorf("write with token %d, higher than all before: %w", token, err)
		}
	}
	return wantValue(ctx, store, resource, "1000000007")
}

func zeroRefused(ctx context.Context, store Store, resource string) error {
	return errors.Join(
		wantInvalid(store.Claim(ctx, resource, 0), "claim with token 0 of a fresh resource"),
		wantInvalid(store.Write(ctx, resource, 0, "zero"), "write with token 0 to a fresh resource"),
		wantPass(store.Claim(ctx, resource, 34), "claim with token 34 after that"),
		wantInvalid(store.Write(ctx, resource, 0, "zero"), "write with token 0 to a claimed resource"),
		wantValue(ctx, store, resource, ""),
	)
}

func emptyResourceRefused(ctx context.Context, store Store, _ string) error {
	return errors.Join(
		wantInvalid(store.Claim(ctx, "", 34), "claim of an empty resource"),
		wantInvalid(store.Write(ctx, "", 34, "nameless"), "write to an empty resource"),
	)
}

func claimFences(ctx context.Context, store Store, resource string) error {
	return errors.Join(
		wantPass(store.Write(ctx, resource, 33, "old"), "first write"),
		wantPass(store.Claim(ctx, resource, 34), "newer claim"),
		wantStale(store.Write(ctx, resource, 33, "late"), resource, 33, 34),
		wantValue(ctx, store, resource, "old"),
	)
}

func writeFences(ctx context.Context, store Store, resource string) error {
	return errors.Join(
		wantPass(store.Claim(ctx, resource, 33), "first claim"),
		wantPass(store.Write(ctx, resource, 34, "new"), "newer write without a claim of its own"),
		wantStale(store.Write(ctx, resource, 33, "late"), resource, 33, 34),
		wantStale(store.Claim(ctx, resource, 33), resource, 33, 34),
		wantValue(ctx, store, resource, "new"),
	)
}

func failKeepsFence(ctx context.Context, store Store, resource string) error {
	err := errors.Join(
		wantFailure(store.Fail(ctx, resource, 33, "failed"), "on a fresh resource"),
		wantPass(store.Claim(ctx, resource, 34), "claim"),
		wantFailure(store.Fail(ctx, resource, 34, "failed"), "with the claimed token"),
		wantStale(store.Claim(ctx, resource, 33), resource, 33, 34),
		wantFailure(store.Fail(ctx, resource, 35, "failed"), "with a token above the claimed one"),
	)
	if err != nil {
		return err
	}
	// The fence may be at 34 or at 35 now: a rollback may undo the raise to 35.
	for _, token := range []fence.Token{1, 33} {
		if err := store.Write(ctx, resource, token, "late"); !errors.Is(err, fence.ErrStale) {
			return fmt.Errorf("write with token %d after a claim with 34 and failed writes: got %v, want fence.ErrStale", token, err)
		}
	}
	return errors.Join(
		wantPass(store.Write(ctx, resource, 35, "again"), "the failed write, done again"),
		wantValue(ctx, store, resource, "again"),
	)
}

// resourcesIndependent uses names that a store may confuse: through a collation,
// trailing spaces, Unicode forms or a cut at some length.
func resourcesIndependent(ctx context.Context, store Store, resource string) error {
	if err := store.Write(ctx, resource+"/order é", 34, "new"); err != nil {
		return fmt.Errorf("first write: %w", err)
	}
	for _, suffix := range []string{"/Order é", "/order é ", "/order e", "/order e\u0301", "/order", "/order é/1", "/order_é", "/order %"} {
		other := resource + suffix
		err := errors.Join(
			wantValue(ctx, store, other, ""),
			wantPass(store.Write(ctx, other, 33, suffix), "first write with token 33, while another resource is at 34"),
			wantStale(store.Write(ctx, other, 32, "late"), other, 32, 33),
			wantValue(ctx, store, other, suffix),
		)
		if err != nil {
			return fmt.Errorf("%+q beside %+q: %w", other, resource+"/order é", err)
		}
	}
	return errors.Join(
		wantStale(store.Write(ctx, resource+"/order é", 33, "late"), resource+"/order é", 33, 34),
		wantValue(ctx, store, resource+"/order é", "new"),
	)
}

// comparedExactly tests tokens that compare wrongly as texts, and tokens that differ only in digits that a double
// or a 32 bit integer loses.
func comparedExactly(ctx context.Context, store Store, resource string) error {
	for _, higher := range []fence.Token{
		10, 100, 1 << 31, 1 << 32, 10_000_000_000,
		1 << 53, 1<<53 + 1, 1<<53 + 2, 1_000_000_000_000_000_000, math.MaxInt64 - 1, math.MaxInt64,
	} {
		lower := higher - 1
		err := errors.Join(
			wantPass(store.Write(ctx, resource, lower, "lower"), "lower"),
			wantPass(store.Write(ctx, resource, higher, "higher"), "higher"),
			wantStale(store.Write(ctx, resource, lower, "late"), resource, lower, higher),
			wantPass(store.Write(ctx, resource, higher, "equal"), "equal"),
			wantStale(store.Claim(ctx, resource, 9), resource, 9, higher),
			wantValue(ctx, store, resource, "equal"),
		)
		if err != nil {
			return fmt.Errorf("tokens %d and %d: %w", lower, higher, err)
		}
	}
	return nil
}

// otherLockNameNoticed tests a second name whose hash is below the first name's, and one whose hash is above.
func otherLockNameNoticed(ctx context.Context, store Store, resource string) error {
	for _, names := range [][2]string{{"hot", "cold"}, {"cold", "hot"}} {
		guarded := resource + "/" + names[0]
		err := errors.Join(
			wantPass(fence.CheckLockName(ctx, store, guarded, names[0]), "first check"),
			wantOther(fence.CheckLockName(ctx, store, guarded, names[1]), "check of another name"),
			wantPass(fence.CheckLockName(ctx, store, guarded, names[0]), "check of the first name again"),
			wantOther(fence.CheckLockName(ctx, store, guarded, names[1]), "check of the other name again"),
			wantPass(store.Write(ctx, guarded, 1, "lowest"), "write with token 1 after the checks"),
		)
		if err != nil {
			return fmt.Errorf("%q before %q: %w", names[0], names[1], err)
		}
	}
	return nil
}

func wantPass(err error, what string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func wantStale(err error, resource string, token, highest fence.Token) error {
	var stale *fence.StaleError
	if !errors.As(err, &stale) || !errors.Is(err, fence.ErrStale) {
		return fmt.Errorf("token %d after %d: got %v, want a *fence.StaleError", token, highest, err)
	}
	if want := (fence.StaleError{Resource: resource, Token: token, Highest: highest}); *stale != want {
		return fmt.Errorf("stale error is %+v, want %+v", *stale, want)
	}
	return nil
}

func wantInvalid(err error, what string) error {
	if !errors.Is(err, fence.ErrInvalid) {
		return fmt.Errorf("%s: got %v, want fence.ErrInvalid", what, err)
	}
	return nil
}

func wantOther(err error, what string) error {
	if !errors.Is(err, fence.ErrOtherLockName) {
		return fmt.Errorf("%s: got %v, want fence.ErrOtherLockName", what, err)
	}
	return nil
}

func wantFailure(err error, what string) error {
	if err == nil || errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrInvalid) {
		return fmt.Errorf("failing write %s: got %v, want the error of the write", what, err)
	}
	return nil
}

func wantValue(ctx context.Context, store Store, resource, want string) error {
	got, err := store.Read(ctx, resource)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if got != want {
		return fmt.Errorf("value is %q, want %q", got, want)
	}
	return nil
}
