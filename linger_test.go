package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// requireTaken fails the test if others get the name before d has passed since start, or get it much later.
func requireTaken(t *testing.T, c *redlock.Client, start time.Time, d, slack time.Duration) {
	t.Helper()
	harness.Eventually(t, "it is free", func() bool {
		lock, err := c.TryLock(context.Background(), "job")
		if err != nil {
			if !errors.Is(err, redlock.ErrHeld) && !errors.Is(err, redlock.ErrNoQuorum) {
				t.Fatal(err)
			}
			return false
		}
		after := time.Since(start)
		if after < d || after > d+slack {
			t.Errorf("free after %v, want %v", after, d)
		}
		harness.Must(t, lock.Unlock(context.Background()))
		return true
	})
}

func holdAtLeast(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	for _, ttl := range []time.Duration{limits.DefaultTTL, d.TTL()} { // Unlock shortens the first ttl on the masters, and lengthens the second
		least := 2 * d.TTL()
		start := time.Now()
		lock := harness.MustTry(t, a, "job", redlock.WithTTL(ttl), redlock.WithHoldAtLeast(least))
		harness.Settled(t, a)
		time.Sleep(d.TTL() / 4) // the work
		unlocking := time.Now()
		harness.Must(t, lock.Unlock(context.Background()))
		if took := time.Since(unlocking); took > d.TTL() {
			t.Errorf("Unlock took %v", took)
		}
		if context.Cause(lock.Context()) != redlock.ErrReleased || lock.Valid() {
			t.Errorf("the hold is not over: %v", context.Cause(lock.Context()))
		}
		harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrReleased)
		harness.RequireErr(t, lock.Extend(context.Background(), ttl), redlock.ErrReleased)
		if got := d.Holders("job"); got != "11111" {
			t.Errorf("it stays on %s", got)
		}
		for _, c := range []*redlock.Client{a, b} {
			_, err := c.TryLock(lock.Context(), "job") // even with the holder's own context, the call does not re-enter the lock
			harness.RequireErr(t, err, context.Canceled)
			_, err = c.TryLock(context.Background(), "job")
			harness.RequireErr(t, err, redlock.ErrHeld)
			if q, _ := errors.AsType[*redlock.QuorumError](err); q.FreeIn <= 0 || q.FreeIn > least+least/10 {
				t.Errorf("free in %v", q.FreeIn)
			}
		}
		if v, err := b.Verify(context.Background(), "job", lock.Token()); v != redlock.VerifyStale {
			t.Errorf("its token is %v, %v", v, err)
		}
		requireTaken(t, b, start, least, d.Either(100*time.Millisecond, harness.Patience))
		next := harness.MustTry(t, a, "job")
		if next.Token() <= lock.Token() {
			t.Errorf("token %v after %v", next.Token(), lock.Token())
		}
		harness.Must(t, next.Unlock(context.Background()))
		harness.RequireFree(t, d, "job")
	}

	// If the hold was longer than the time that is set, Unlock frees the name at once.
	lock := harness.MustTry(t, a, "job", redlock.WithHoldAtLeast(time.Millisecond))
	time.Sleep(2 * time.Millisecond)
	harness.Must(t, lock.Unlock(context.Background()))
	harness.Must(t, harness.MustTry(t, b, "job").Unlock(context.Background()))
}

// Masters that cannot be reached at the Unlock keep the lock for its ttl. If they come back earlier, they keep it
// until the time of WithHoldAtLeast is over.
func lingersAfterOutage(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	start, least := time.Now(), 3*d.TTL()
	lock := harness.MustTry(t, a, "job", redlock.WithHoldAtLeast(least))
	harness.Settled(t, a)
	harness.All(d.Masters, harness.Master.Freeze)
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrNoQuorum)
	harness.All(d.Masters, harness.Master.Thaw)
	harness.Settled(t, a)
	requireTaken(t, b, start, least, d.Either(time.Second, harness.Patience)) // the ttl is 30 s
}

// Close lets names linger too: the name of a held lock, and a name that lingers already while a master is down.
func lingersBeyondClose(t *testing.T, d *harness.Deployment) {
	b := d.Reached(redlock.WithRequestTimeout(d.Request()))
	for _, unlock := range []bool{false, true} {
		a := d.Reached(redlock.WithRequestTimeout(d.Request()))
		start, least := time.Now(), 2*d.TTL()
		lock := harness.MustTry(t, a, "job", redlock.WithHoldAtLeast(least))
		harness.Settled(t, a)
		if unlock {
			d.Masters[0].Die()
			harness.Must(t, lock.Unlock(context.Background()))
		}
		harness.Must(t, a.Close())
		requireTaken(t, b, start, least, d.Either(100*time.Millisecond, harness.Patience))
		if unlock {
			d.Masters[0].Revive()
		}
	}
}

// No master calls the waiters when the linger ends. All the same the waiters acquire the lock soon and in order, even
// the callers of the holder's client.
func TestWaiterAcquiresAfterLinger(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		least, work time.Duration
		stopped     bool // the first waiter is stopped, and never asks
	}{
		{least: 100 * time.Millisecond, work: 20 * time.Millisecond},
		{least: 5 * time.Second, work: 20 * time.Millisecond},
		{least: 25 * time.Second, work: 7 * time.Second},
		{least: 12 * time.Second, work: 3 * time.Second, stopped: true},
	} {
		for _, own := range []bool{false, true} { // whether some waiters are callers of the holder's client
			harness.RunInVirtualTime(t, fmt.Sprint(c, own), 5, func(t *testing.T, d *harness.Deployment) {
				a := d.Reached()
				waiters := []*redlock.Client{d.Reached(), d.Reached(), d.Reached()}
				if own {
					waiters = []*redlock.Client{a, d.Reached(), a}
				}
				lock := harness.MustLock(t, a, "job", redlock.WithHoldAtLeast(c.least))
				start := time.Now()
				bound := c.least + c.least/50 + 1100*time.Millisecond
				if c.stopped {
					bound += 1200 * time.Millisecond
					for _, r := range d.Raw { // the stopped waiter's subscription: it receives notices, and does nothing
						sub := r.Subscribe(context.Background(), "stopped")
						defer sub.Close()
						_, err := sub.Receive(context.Background())
						harness.Must(t, err)
						harness.Must(t, r.ZAdd(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Queue, redis.Z{Score: 1, Member: "stopped"}).Err())
					}
				}
				got := make(chan *redlock.Lock, len(waiters))
				for _, w := range waiters {
					go func() { got <- <-harness.GoLock(t, w, "job") }()
				}
				time.Sleep(c.work)
				harness.Must(t, lock.Unlock(context.Background()))
				for range waiters {
					next := harness.Have(t, got)
					if after := time.Since(start); after < c.least || after > bound {
						t.Errorf("got it after %v, want %v to %v", after, c.least, bound)
					}
					harness.Must(t, next.Unlock(context.Background()))
				}
			})
		}
	}
}

// A re-entry may set WithHoldAtLeast, or set a longer time. The time counts from the fresh acquisition.
func TestReentryWithHoldAtLeast(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		start := time.Now()
		outer := harness.MustTry(t, a, "job", redlock.WithHoldAtLeast(time.Second))
		time.Sleep(500 * time.Millisecond)
		inner := harness.MustEnter(t, a, outer.Context(), "job", redlock.WithHoldAtLeast(3*time.Second))
		harness.Must(t, inner.Unlock(context.Background()))
		if !outer.Valid() || harness.LockOn(t, d.Raw[0], "job").Owner == "" {
			t.Error("an inner Unlock ended it")
		}
		third := harness.MustEnter(t, a, outer.Context(), "job", redlock.WithHoldAtLeast(2*time.Second))
		harness.Must(t, third.Unlock(context.Background()))
		harness.RequireOptionError(t, harness.ErrOf(a.TryLock(outer.Context(), "job", redlock.WithHoldAtLeast(2*time.Minute))), "hold at least")
		harness.Must(t, outer.Unlock(context.Background()))
		requireTaken(t, b, start, 3*time.Second, 100*time.Millisecond)
	})
}

// A lost hold does not linger, because the name is another owner's. A hold that ended at its MaxHold lingers.
func TestExpiredHoldLingers(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		start := time.Now()
		lock := harness.MustTry(t, a, "job", redlock.WithHoldAtLeast(3*time.Second), redlock.WithMaxHold(time.Second))
		<-lock.Context().Done()
		harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
		requireTaken(t, b, start, 3*time.Second, 100*time.Millisecond)
		harness.RequireFree(t, d, "job")

		lock = harness.MustTry(t, a, "job", redlock.WithHoldAtLeast(20*time.Second))
		d.Drop(a, "job", 0, 1)
		harness.RequireErr(t, lock.Extend(context.Background(), limits.DefaultTTL), redlock.ErrLost)
		harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrLost)
		harness.RequireFree(t, d, "job")
	})
}
