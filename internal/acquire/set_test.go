package acquire_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// A set that takes one name after the other holds and renews its names while it waits for the next
// name. It releases them when it gives up.
func TestSetTakesNamesInOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached()
		held := harness.MustTry(t, b, "b")
		ctx, cancel := context.WithCancel(context.Background())
		o := options()
		o.TTL = d.TTL()
		s := inside(a).SetTry(ctx, []string{"a", "b", "c"}, o)
		done := make(chan error, 1)
		go func() {
			done <- s.TakeInOrder(acquire.Forever)
			s.Discard(redlock.ErrNotAcquired)
		}()
		d.InLine("b", 1)
		time.Sleep(2 * d.TTL())
		if got := d.Holders("a"); !strings.Contains(got, "1") {
			t.Errorf("a is held on %s while b is awaited", got)
		}
		if got := d.Holders("c"); strings.Contains(got, "1") {
			t.Errorf("c is held on %s while b is awaited", got)
		}
		cancel()
		harness.RequireErr(t, <-done, context.Canceled)
		harness.RequireHolders(t, d, strings.Repeat("0", len(d.Masters)), "a", "c")
		d.InLine("b", 0)
		harness.Must(t, held.Unlock(context.Background()))
	})
}

// When a set loses one name, the others stay taken for the lock delay, so that its work can stop, or for WithHoldAtLeast.
func TestLostSetKeepsOtherNames(t *testing.T) {
	t.Parallel()
	for claim, option := range map[string]redlock.LockOption{"lock delay": redlock.WithLockDelay(time.Second), "hold at least": redlock.WithHoldAtLeast(30 * time.Second)} {
		harness.RunInVirtualTime(t, claim, 3, func(t *testing.T, d *harness.Deployment) {
			a, b := d.Reached(), d.Reached()
			set := harness.MustAll(t, a, []string{"a", "b"}, redlock.WithTTL(2*time.Second), option)
			d.Drop(a, "a", 0, 1, 2)
			<-set.Context().Done()
			time.Sleep(time.Second)
			harness.RequireErr(t, harness.ErrOf(b.TryLock(context.Background(), "b")), redlock.ErrHeld)
			harness.RequireErr(t, set.Unlock(context.Background()), redlock.ErrLost)
			synctest.Wait() // the releases have arrived
			if claim == "hold at least" {
				harness.RequireErr(t, harness.ErrOf(b.TryLock(context.Background(), "b")), redlock.ErrHeld)
				time.Sleep(30 * time.Second)
			}
			harness.UnlockAll(t, harness.MustTry(t, b, "b"))
		})
	}
}

// A set that loses a name while it waits for another starts over.
func TestSetLosesPart(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached()
		held := harness.MustTry(t, b, "b")
		o := options()
		o.TTL = d.TTL()
		s := inside(a).SetTry(context.Background(), []string{"a", "b", "c"}, o)
		done := make(chan error, 1)
		go func() { done <- s.TakeInOrder(acquire.Forever) }()
		d.InLine("b", 1)
		harness.Eventually(t, "all masters have a", func() bool { return d.Holders("a") == strings.Repeat("1", len(d.Masters)) })
		for _, r := range d.Raw {
			harness.Must(t, r.Del(context.Background(), script.KeysOf(limits.DefaultPrefix, "a", "").Lock).Err())
		}
		harness.RequireErr(t, <-done, redlock.ErrLost)
		s.Discard(redlock.ErrNotAcquired)
		harness.Must(t, held.Unlock(context.Background()))
		harness.RequireHolders(t, d, strings.Repeat("0", len(d.Masters)), "a", "b", "c")
	})
}

// The names of a set that could not get all its names do not linger. A surplus slot does not linger either.
func TestDiscardedLockDoesNotLinger(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		held := harness.MustTry(t, b, "c")
		o := options()
		o.AtLeast = 20 * time.Second
		s := inside(a).SetTry(context.Background(), []string{"a", "b", "c"}, o)
		harness.RequireErr(t, s.TakeInOrder(d.Request()), redlock.ErrHeld)
		for _, name := range []string{"a", "b"} {
			if got := d.Holders(name); strings.Count(got, "1") < 2 {
				t.Errorf("it has not taken %s: held on %s", name, got)
			}
		}
		s.Discard(redlock.ErrNotAcquired)
		synctest.Wait()
		for _, name := range []string{"a", "b"} {
			harness.Must(t, harness.MustTry(t, b, name).Unlock(context.Background()))
		}
		harness.Must(t, held.Unlock(context.Background()))

		locks, err := a.LockAll(context.Background(), []string{"a", "b", "c"}, redlock.WithHoldAtLeast(20*time.Second))
		harness.Must(t, err)
		harness.Must(t, locks.Unlock(context.Background()))
		for _, name := range []string{"a", "b", "c"} {
			_, err := b.TryLock(context.Background(), name)
			harness.RequireErr(t, err, redlock.ErrHeld)
		}

		var slots []*redlock.Lock
		for range 2 {
			slots = append(slots, harness.MustTry(t, b, "jobs", redlock.WithSlots(2)))
		}
		waiting := make(chan *redlock.Lock)
		go func() {
			lock, err := a.Lock(context.Background(), "jobs", redlock.WithSlots(2), redlock.WithHoldAtLeast(20*time.Second))
			harness.Must(t, err)
			waiting <- lock
		}()
		synctest.Wait()
		for _, lock := range slots {
			go func() { harness.Must(t, lock.Unlock(context.Background())) }() // the waiter is called for both slots
		}
		lock := <-waiting
		synctest.Wait()
		harness.Must(t, harness.MustTry(t, b, "jobs", redlock.WithSlots(2)).Unlock(context.Background()))
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// A set is acquired when a quorum of masters has confirmed the token of each name. Otherwise the attempt fails with the
// name whose token is not confirmed.
func TestSetNeedsEachToken(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	for _, x := range []struct {
		lost string // the names that two of three masters lose before they are asked to confirm
		want string // the name in the error; "": the set is acquired
	}{
		{"", ""}, {"a", "a"}, {"b", "b"}, {"c", "c"}, {"ab", "a"}, {"bc", "b"}, {"abc", "a"},
	} {
		harness.RunInVirtualTime(t, "lost "+x.lost, 3, func(t *testing.T, d *harness.Deployment) {
			c := d.Reached()
			for i, name := range names { // the counters differ, so that each name has two masters that confirm
				for m := range d.Raw {
					harness.Must(t, d.Raw[m].IncrBy(context.Background(), script.KeysOf(limits.DefaultPrefix, name, "").Fence, int64(100*(m+i))).Err())
				}
			}
			s := inside(c).SetTry(context.Background(), names, options())
			attempts := s.AskForAll(inside(c).Members.View())
			harness.Settled(t, c)
			votes := make([][]script.Vote, len(attempts))
			for i, a := range attempts {
				votes[i] = a.Asked().Votes()
			}
			for _, name := range strings.Split(x.lost, "") {
				for _, r := range d.Raw[:2] {
					harness.Must(t, r.Del(context.Background(), script.KeysOf(limits.DefaultPrefix, name, "").Lock).Err())
				}
			}
			err := s.MakeTokens(context.Background(), attempts, votes)
			f, _ := errors.AsType[*ask.Failure](err)
			switch {
			case x.want == "":
				harness.Must(t, err)
			case f == nil || f.Reason != redlock.ErrNoQuorum || f.Name != x.want:
				t.Errorf("%v, want that %s has no quorum", err, x.want)
			}
			for _, a := range attempts {
				a.Cancel()
			}
			harness.Settled(t, c)
		})
	}
}

// onBoth runs test in virtual time, and on redis-server processes.
func onBoth(t *testing.T, test func(t *testing.T, d *harness.Deployment)) {
	harness.RunInVirtualTime(t, "embedded", 3, test)
	t.Run("redis-server", func(t *testing.T) {
		harness.OnProcesses(t, 3, test)
	})
}
