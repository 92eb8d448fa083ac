package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// requireTaken fails the test if others get in before d has passed since start, or much later.
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
	for _, ttl := range []time.Duration{limits.DefaultTTL, d.TTL()} { // shortened, and lengthened
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
			_, err := c.TryLock(lock.Context(), "job") // the holder's own context enters nothing again
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

	// Who held it for longer than that frees it at once.
	lock := harness.MustTry(t, a, "job", redlock.WithHoldAtLeast(time.Millisecond))
	time.Sleep(2 * time.Millisecond)
	harness.Must(t, lock.Unlock(context.Background()))
	harness.Must(t, harness.MustTry(t, b, "job").Unlock(context.Background()))
}

// Masters that cannot be reached at the Unlock keep the lock until its ttl is over; one that can be
// again before is told what is left.
func lingersAfterAnOutage(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	start, least := time.Now(), 3*d.TTL()
	lock := harness.MustTry(t, a, "job", redlock.WithHoldAtLeast(least))
	harness.Settled(t, a)
	for _, m := range d.Masters {
		m.Freeze()
	}
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrNoQuorum)
	for _, m := range d.Masters {
		m.Thaw()
	}
	harness.Settled(t, a)
	requireTaken(t, b, start, least, d.Either(time.Second, harness.Patience)) // the ttl is 30 s
}

// Close keeps to it: of a lock that is held, and of one that lingers where a master is down.
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

// mustHold waits for the lock.
func mustHold(t *testing.T, c *redlock.Client, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lock, err := c.Lock(context.Background(), name, opts...)
	harness.Must(t, err)
	return lock
}

// Nobody calls those that wait when it ends. They come soon all the same, those of the holder's
// client too, and in order.
func TestWaitersComeSoonAfterALingeringLock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		least, work time.Duration
		stopped     bool // the first that waits never comes
	}{
		{least: 100 * time.Millisecond, work: 20 * time.Millisecond},
		{least: 5 * time.Second, work: 20 * time.Millisecond},
		{least: 25 * time.Second, work: 7 * time.Second},
		{least: 12 * time.Second, work: 3 * time.Second, stopped: true},
	} {
		for _, own := range []bool{false, true} { // some of them are of the holder's client
			t.Run(fmt.Sprint(c, own), func(t *testing.T) {
				t.Parallel()
				harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
					a := d.Reached()
					waiters := []*redlock.Client{d.Reached(), d.Reached(), d.Reached()}
					if own {
						waiters = []*redlock.Client{a, d.Reached(), a}
					}
					lock := mustHold(t, a, "job", redlock.WithHoldAtLeast(c.least))
					start := time.Now()
					bound := c.least + c.least/50 + 1100*time.Millisecond
					if c.stopped {
						bound += 1200 * time.Millisecond
						for _, r := range d.Raw { // its process hears, and does nothing
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
			})
		}
	}
}

// A re-entry may ask for it, or for more. It counts from when the lock was acquired first.
func TestReEntriesThatHoldAtLeast(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		start := time.Now()
		outer := harness.MustTry(t, a, "job", redlock.WithHoldAtLeast(time.Second))
		time.Sleep(500 * time.Millisecond)
		inner, err := a.TryLock(outer.Context(), "job", redlock.WithHoldAtLeast(3*time.Second))
		harness.Must(t, err)
		harness.Must(t, inner.Unlock(context.Background()))
		if !outer.Valid() || harness.LockOn(t, d.Raw[0], "job").Owner == "" {
			t.Error("an inner Unlock ended it")
		}
		third, err := a.TryLock(outer.Context(), "job", redlock.WithHoldAtLeast(2*time.Second))
		harness.Must(t, err)
		harness.Must(t, third.Unlock(context.Background()))
		_, err = a.TryLock(outer.Context(), "job", redlock.WithHoldAtLeast(2*time.Minute))
		harness.RequireOptionError(t, err, "hold at least")
		harness.Must(t, outer.Unlock(context.Background()))
		requireTaken(t, b, start, 3*time.Second, 100*time.Millisecond)
	})
}

// A hold that was lost keeps nothing: the name is another's. One that ended at its MaxHold does.
func TestHoldsThatEndBeforeTheirUnlockLinger(t *testing.T) {
	t.Parallel()
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

		// One whose masters forgot it while it was held does not linger there, and Unlock tells.
		lock = harness.MustTry(t, a, "job", redlock.WithHoldAtLeast(20*time.Second))
		d.Drop(a, "job", 0, 1)
		harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrLost)
	})
}

func TestHoldAtLeastWithBadInput(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(redlock.WithMaxTTL(40 * time.Second))
		for _, bad := range []time.Duration{0, -time.Second, time.Duration(1<<63 - 1), 39599 * time.Millisecond, 40 * time.Second, time.Hour} {
			_, err := c.TryLock(context.Background(), "job", redlock.WithHoldAtLeast(bad))
			harness.RequireOptionError(t, err, "hold at least")
		}
		harness.Must(t, harness.MustTry(t, c, "job", redlock.WithHoldAtLeast(39597*time.Millisecond)).Unlock(context.Background()))
		// What the client's own settings allow, the deployment does not.
		other := d.Reached(redlock.WithDrift(0.02))
		_, err := other.TryLock(context.Background(), "another", redlock.WithHoldAtLeast(39597*time.Millisecond))
		harness.RequireOptionError(t, err, "hold at least")
	})
	_, err := redlock.New(nil, redlock.WithHoldAtLeast(-1))
	harness.RequireErr(t, err, redlock.ErrBadOption)
}

// Whatever of the same owner comes late finds that the lock is not its any more.
func TestNothingReachesALingeringLock(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 1, redisproc.Config{AppendFsync: "always"})
	harness.Must(t, harness.MustTry(t, d.Reached(), "another").Unlock(context.Background()))
	r := d.Raw[0]
	h := &lease.Owner{ID: identity.NewOwner(identity.NewClient()), Token: 1}
	h.Keys = script.KeysOf(limits.DefaultPrefix, "job", h.ID)
	call := func(c script.Call) script.Vote {
		t.Helper()
		v, err := harness.CallIn(script.BatchSource, r, c)
		harness.Must(t, err)
		return v
	}
	long, channel := quorum.TermsOf(limits.DefaultTTL, 0, 0), "nobody"
	grant := call(h.AcquireCall(long, lease.Place{})).Grant
	if v := call(h.LingerCall(5*time.Second, 0)); v.Answer != script.Granted {
		t.Fatal(v)
	}
	want := r.Get(context.Background(), h.Keys.Lock).Val()
	h.Token = fence.Token(grant)
	for name, late := range map[string]script.Call{
		"acquire": h.AcquireCall(long, lease.Place{}), "enqueue": h.AcquireCall(long, lease.Place{Channel: &channel}), "reenter": h.ReenterCall(2, long),
		"confirm": h.ConfirmCall(grant), "extend": h.ExtendCall(long), "repair": h.RepairCall(1, long), "exit": h.ExitCall(1),
		"release": h.ReleaseCall(), "pass": h.PassCall(&channel), "undo": h.UndoCall(0, lease.Place{}),
		"verify": script.Verify.Call([]*string{&h.Keys.Lock}, uint64(grant)),
	} {
		if v := call(late); v.Answer == script.Granted || v.Answer == script.Unknown {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := call(h.LingerCall(50*time.Second, 0)); v.Answer != script.Granted {
		t.Errorf("a second copy: %+v", v)
	}
	if left := r.PTTL(context.Background(), h.Keys.Lock).Val(); r.Get(context.Background(), h.Keys.Lock).Val() != want || left <= 0 || left > 5*time.Second {
		t.Errorf("it is %q for %v, want %q", r.Get(context.Background(), h.Keys.Lock).Val(), left, want)
	}
}

// The first two in line give up while the lock lingers. They knew until when; the third one learns
// it then.
func TestALingeringLockIsToldToThoseBehind(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		lock := harness.MustTry(t, c, "job", redlock.WithHoldAtLeast(4*time.Second))
		ctx, cancel := context.WithCancel(context.Background())
		var left sync.WaitGroup
		for i := range 2 {
			w := d.Reached()
			left.Go(func() { _, _ = w.Lock(ctx, "job") })
			d.InLine("job", int64(i+1))
		}
		third := d.Reached()
		began := time.Now()
		got := harness.GoLock(t, third, "job")
		d.InLine("job", 3)
		harness.Must(t, lock.Unlock(context.Background()))
		time.Sleep(time.Second)
		cancel()
		left.Wait()
		harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("the third in line got it after %v", took)
		}
	})
}
