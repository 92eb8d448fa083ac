package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
)

var three = []string{"c", "a", "b"}

func allOrNone(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Reached()
	locks := harness.MustAll(t, a, three)
	if got := locks.Names(); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("names %q", got)
	}
	for _, name := range three {
		if !locks.Token(name).Valid() || locks.Tokens()[name] != locks.Token(name) {
			t.Errorf("token of %s: %v of %v", name, locks.Token(name), locks.Tokens())
		}
		verdict, err := b.Verify(context.Background(), name, locks.Token(name))
		if harness.Must(t, err); verdict != redlock.VerifyValid {
			t.Errorf("%s is %v", name, verdict)
		}
	}
	if locks.Token("d") != 0 || !locks.Valid() || time.Until(locks.Until()) <= 0 {
		t.Errorf("%v, valid %v, until %v", locks, locks.Valid(), locks.Until())
	}
	if _, is := fence.FromContext(locks.Context()); is {
		t.Error("the context carries the token of one of the names")
	}
	_, err := b.TryLockAll(context.Background(), []string{"0", "b", "d"})
	harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrHeld)
	if q, _ := errors.AsType[*redlock.QuorumError](err); q.Name != "b" || q.FreeIn <= 0 {
		t.Errorf("it does not name the held name: %v", err)
	}
	free := strings.Repeat("0", len(d.Masters))
	harness.RequireHolders(t, d, free, "0", "d")
	harness.Must(t, locks.Unlock(context.Background()))
	if cause := context.Cause(locks.Context()); cause != redlock.ErrReleased || locks.Valid() {
		t.Errorf("after Unlock: %v, valid %v", cause, locks.Valid())
	}
	harness.RequireErr(t, locks.Unlock(context.Background()), redlock.ErrReleased)
	harness.RequireErr(t, locks.Extend(context.Background(), d.TTL()), redlock.ErrReleased)
	harness.RequireHolders(t, d, free, three...)

	second := harness.MustAll(t, b, []string{"a", "b", "d"})
	for _, name := range []string{"a", "b"} {
		if second.Token(name) <= locks.Token(name) {
			t.Errorf("the token of %s went from %v to %v", name, locks.Token(name), second.Token(name))
		}
	}
	harness.Must(t, second.Unlock(context.Background()))
}

func setRenews(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithTTL(d.TTL()), redlock.WithRequestTimeout(d.Request()))
	locks := harness.MustAll(t, c, three)
	time.Sleep(3 * d.TTL())
	harness.RequireOptionError(t, locks.Extend(context.Background(), 0), "ttl")
	harness.Must(t, locks.Extend(context.Background(), 2*d.TTL()))
	for _, name := range three {
		if got := d.Holders(name); !strings.Contains(got, "1") {
			t.Errorf("%s is held on %s", name, got)
		}
	}
	if !locks.Valid() {
		t.Errorf("it is over: %v", context.Cause(locks.Context()))
	}
	time.Sleep(3 * d.TTL()) // renewals use the ttl of the last Extend
	if left := time.Until(locks.Until()); left < d.TTL() {
		t.Errorf("%v are left, want more than the ttl of the beginning", left)
	}
	harness.Must(t, locks.Unlock(context.Background()))
}

func setLossOfOneLosesAll(t *testing.T, d *harness.Deployment) {
	c := d.Reached(redlock.WithTTL(d.TTL()), redlock.WithRequestTimeout(d.Request()))
	locks := harness.MustAll(t, c, three)
	d.Drop(c, "b", 0, 1, 2)
	harness.Within(t, "the loss", locks.Context().Done())
	if cause := context.Cause(locks.Context()); !errors.Is(cause, redlock.ErrLost) || locks.Valid() {
		t.Errorf("%v, valid %v", cause, locks.Valid())
	}
	lost := time.Now()
	harness.RequireHolders(t, d, strings.Repeat("0", len(d.Masters)), "a", "c") // already before Unlock
	if took := time.Since(lost); took > d.TTL()/4 {
		t.Errorf("the others are free after %v only: the ttl did it", took)
	}
	harness.RequireErr(t, locks.Extend(context.Background(), d.TTL()), redlock.ErrLost)
	harness.RequireErr(t, locks.Unlock(context.Background()), redlock.ErrLost)
}

func setReentry(t *testing.T, d *harness.Deployment) {
	c := d.Reached()
	locks := harness.MustAll(t, c, three)
	inner := harness.MustEnter(t, c, locks.Context(), "b")
	if inner.Token() != locks.Token("b") {
		t.Errorf("re-entered with %v, not %v", inner.Token(), locks.Token("b"))
	}
	harness.RequireOptionError(t, harness.ErrOf(c.LockAll(locks.Context(), []string{"z", "b"})), "names")
	single := harness.MustTry(t, c, "single")
	harness.RequireOptionError(t, harness.ErrOf(c.LockAll(single.Context(), []string{"z", "single"})), "names")
	harness.Must(t, single.Unlock(context.Background()))

	var others []*redlock.Lock
	for _, name := range []string{"a", "c"} {
		other := harness.MustEnter(t, c, locks.Context(), name)
		others = append(others, other)
	}
	harness.Must(t, locks.Unlock(context.Background()))
	if locks.Valid() {
		t.Error("it is unlocked, and valid because its names were re-entered")
	}
	harness.UnlockAll(t, others...)
	if inner.Context().Err() != nil || !inner.Valid() {
		t.Errorf("the inner handle is over: %v", context.Cause(inner.Context()))
	}
	harness.RequireHolders(t, d, strings.Repeat("0", len(d.Masters)), "a", "c")
	if got := d.Holders("b"); !strings.Contains(got, "1") {
		t.Errorf("b is held on %s", got)
	}
	harness.Must(t, inner.Unlock(context.Background()))
	if cause := context.Cause(locks.Context()); cause != redlock.ErrReleased {
		t.Errorf("%v", cause)
	}
}

// A set keeps the ticket of its first wait for all names and attempts, so that no later waiter is before the set in any
// queue.
func TestSetHasOneTicket(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c, rival := d.Reached(), d.Reached()
		held := map[string]*redlock.Lock{"b": harness.MustTry(t, rival, "b"), "c": harness.MustTry(t, rival, "c")}
		var locks *redlock.Locks
		got := make(chan error, 1)
		go func() {
			var err error
			locks, err = c.LockAll(context.Background(), three)
			got <- err
		}()
		var first float64
		for i, line := range []string{"b", "c"} { // the set holds the names before this one
			d.InLine(line, 1)
			time.Sleep(time.Second) // so that a later ticket would differ
			harness.Settled(t, c)
			ticket := d.TicketOf(c, line)
			if i == 0 {
				first = ticket
			} else if ticket != first {
				t.Errorf("in line for %s its ticket is %.0f; it was %.0f", line, ticket, first)
			}
			harness.Must(t, held[line].Unlock(context.Background()))
		}
		harness.Must(t, <-got)
		harness.Must(t, locks.Unlock(context.Background()))
	})
}

func setWaitTimeout(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Reached()
	held := harness.MustTry(t, b, "b")
	_, err := a.LockAll(context.Background(), three, redlock.WithWait(d.Either(300*time.Millisecond, 600*time.Millisecond)))
	harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrHeld, context.DeadlineExceeded)
	_, err = a.LockAll(context.Background(), three, redlock.WithWait(0))
	harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrHeld)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it did not wait, and returned: %v", err)
	}
	d.InLine("b", 0)
	harness.Must(t, held.Unlock(context.Background()))
	harness.RequireHolders(t, d, strings.Repeat("0", len(d.Masters)), three...)
	worked := false
	harness.Must(t, a.DoAll(context.Background(), three, func(ctx context.Context, tokens map[string]fence.Token) error {
		worked = true
		if len(tokens) != 3 {
			t.Errorf("tokens %v", tokens)
		}
		return ctx.Err()
	}))
	if !worked {
		t.Error("the work was not done")
	}
}

func closeReleasesSets(t *testing.T, d *harness.Deployment) {
	c := d.Reached()
	locks := harness.MustAll(t, c, three)
	harness.Must(t, c.Close())
	if cause := context.Cause(locks.Context()); cause != redlock.ErrClosed {
		t.Errorf("%v", cause)
	}
	harness.RequireHolders(t, d, strings.Repeat("0", len(d.Masters)), three...)
}

func TestLockAllErrors(t *testing.T) {
	harness.InVirtualTime(t, 1, func(t *testing.T, d *harness.Deployment) {
		c := d.Client()
		for field, names := range map[string][]string{
			"number of names": nil,
			"names[2]":        {"a", "b", "a"},
			"names[1]":        {"a", ""},
			"names[0]":        {"jobs~slot3", "a"},
		} {
			harness.RequireOptionError(t, harness.ErrOf(c.LockAll(context.Background(), names)), field)
		}
		most := make([]string, limits.MaxNames)
		for i := range most {
			most[i] = fmt.Sprint("name ", i)
		}
		harness.Must(t, harness.MustAll(t, c, most).Unlock(context.Background()))
		harness.RequireOptionError(t, harness.ErrOf(c.LockAll(context.Background(), make([]string, limits.MaxNames+1))), "number of names")
		harness.RequireOptionError(t, harness.ErrOf(c.TryLockAll(context.Background(), three, redlock.WithSlots(2))), "slots")
		var none *redlock.Locks
		harness.RequireErr(t, errors.Join(none.Unlock(context.Background()), none.Extend(context.Background(), limits.DefaultTTL)), redlock.ErrNotAcquired)
		if none.Names() != nil || none.Token("a") != 0 || none.Tokens() != nil || none.Context() != nil || none.Valid() || !none.Until().IsZero() || none.String() != "no locks" {
			t.Error("a nil *Locks has something")
		}
	})
}
