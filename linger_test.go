package redlock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// requireTaken fails the test if others get in before d has passed since start, or much later.
func requireTaken(t *testing.T, c *Client, start time.Time, d, slack time.Duration) {
	t.Helper()
	eventually(t, "it is free", func() bool {
		lock, err := c.TryLock(background, "job")
		if err != nil {
			if !errors.Is(err, ErrHeld) && !errors.Is(err, ErrNoQuorum) {
				t.Fatal(err)
			}
			return false
		}
		after := time.Since(start)
		if after < d || after > d+slack {
			t.Errorf("free after %v, want %v", after, d)
		}
		must(t, lock.Unlock(background))
		return true
	})
}

func holdAtLeast(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	for _, ttl := range []time.Duration{limits.DefaultTTL, d.ttl()} { // shortened, and lengthened
		least := 2 * d.ttl()
		start := time.Now()
		lock := mustTry(t, a, "job", WithTTL(ttl), WithHoldAtLeast(least))
		settled(t, a)
		time.Sleep(d.ttl() / 4) // the work
		unlocking := time.Now()
		must(t, lock.Unlock(background))
		if took := time.Since(unlocking); took > d.ttl() {
			t.Errorf("Unlock took %v", took)
		}
		if context.Cause(lock.Context()) != ErrReleased || lock.Valid() {
			t.Errorf("the hold is not over: %v", context.Cause(lock.Context()))
		}
		requireErr(t, lock.Unlock(background), ErrReleased)
		requireErr(t, lock.Extend(background, ttl), ErrReleased)
		if got := d.holders("job"); got != "11111" {
			t.Errorf("it stays on %s", got)
		}
		for _, c := range []*Client{a, b} {
			_, err := c.TryLock(lock.Context(), "job") // the holder's own context enters nothing again
			requireErr(t, err, context.Canceled)
			_, err = c.TryLock(background, "job")
			requireErr(t, err, ErrHeld)
			if q, _ := errors.AsType[*QuorumError](err); q.FreeIn <= 0 || q.FreeIn > least+least/10 {
				t.Errorf("free in %v", q.FreeIn)
			}
		}
		if v, err := b.Verify(background, "job", lock.Token()); v != VerifyStale {
			t.Errorf("its token is %v, %v", v, err)
		}
		requireTaken(t, b, start, least, d.either(100*time.Millisecond, patience))
		next := mustTry(t, a, "job")
		if next.Token() <= lock.Token() {
			t.Errorf("token %v after %v", next.Token(), lock.Token())
		}
		must(t, next.Unlock(background))
		requireFree(t, d, "job")
	}

	// Who held it for longer than that frees it at once.
	lock := mustTry(t, a, "job", WithHoldAtLeast(time.Millisecond))
	time.Sleep(2 * time.Millisecond)
	must(t, lock.Unlock(background))
	must(t, mustTry(t, b, "job").Unlock(background))
}

// A name stays taken on the masters that had the lock, whichever those are, and on no other.
func TestALockLingersWhereItWas(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		a, b := d.reached(), d.reached()
		for i, want := range []string{"011", "101", "110"} {
			name := fmt.Sprint("job ", i)
			key := script.KeysOf(limits.DefaultPrefix, name, "").Lock
			must(t, d.raw[i].Set(background, key, "rival 1 7 ", time.Second).Err())
			lock := mustTry(t, a, name, WithHoldAtLeast(20*time.Second))
			settled(t, a)
			must(t, lock.Unlock(background))
			settled(t, a)
			time.Sleep(2 * time.Second) // the rival's is over
			if got := d.holders(name); got != want {
				t.Errorf("it stays on %s, want %s", got, want)
			}
			_, err := b.TryLock(background, name)
			requireErr(t, err, ErrNotAcquired)
		}
	})
}

// Masters that cannot be reached at the Unlock keep the lock until its ttl is over; one that can be again
// before is told what is left.
func lingersAfterAnOutage(t *testing.T, d *deployment) {
	a, b := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	start, least := time.Now(), 3*d.ttl()
	lock := mustTry(t, a, "job", WithHoldAtLeast(least))
	settled(t, a)
	for _, m := range d.masters {
		m.freeze()
	}
	requireErr(t, lock.Unlock(background), ErrNoQuorum)
	for _, m := range d.masters {
		m.thaw()
	}
	settled(t, a)
	requireTaken(t, b, start, least, d.either(time.Second, patience)) // the ttl is 30 s
}

// Close keeps to it: of a lock that is held, and of one that lingers where a master is down.
func lingersBeyondClose(t *testing.T, d *deployment) {
	b := d.reached(WithRequestTimeout(d.request()))
	for _, unlock := range []bool{false, true} {
		a := d.reached(WithRequestTimeout(d.request()))
		start, least := time.Now(), 2*d.ttl()
		lock := mustTry(t, a, "job", WithHoldAtLeast(least))
		settled(t, a)
		if unlock {
			d.masters[0].die()
			must(t, lock.Unlock(background))
		}
		must(t, a.Close())
		requireTaken(t, b, start, least, d.either(100*time.Millisecond, patience))
		if unlock {
			d.masters[0].revive()
		}
	}
}

// What it is for: three schedulers whose clocks differ run a job that is shorter than that once.
func TestSchedulersWhoseClocksDifferRunAJobOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opts []LockOption
		runs int
	}{
		{nil, 3},
		{[]LockOption{WithHoldAtLeast(250 * time.Millisecond)}, 1},
	} {
		inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
			runs := 0
			for n := range 3 {
				if n > 0 {
					time.Sleep(80 * time.Millisecond) // its clock is behind
				}
				err := d.reached().Do(background, "job", func(context.Context, fence.Token) error {
					runs++
					time.Sleep(20 * time.Millisecond)
					return nil
				}, append(c.opts, WithWait(0))...)
				if err != nil {
					requireErr(t, err, ErrHeld)
				}
			}
			if runs != c.runs {
				t.Errorf("it ran %d times, want %d", runs, c.runs)
			}
		})
	}
}

// mustHold waits for the lock.
func mustHold(t *testing.T, c *Client, name string, opts ...LockOption) *Lock {
	t.Helper()
	lock, err := c.Lock(background, name, opts...)
	must(t, err)
	return lock
}

// Nobody calls those that wait when it ends. They come soon all the same, those of the holder's client too, and in order.
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
				inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
					a := d.reached()
					waiters := []*Client{d.reached(), d.reached(), d.reached()}
					if own {
						waiters = []*Client{a, d.reached(), a}
					}
					lock := mustHold(t, a, "job", WithHoldAtLeast(c.least))
					start := time.Now()
					bound := c.least + c.least/50 + 1100*time.Millisecond
					if c.stopped {
						bound += 1200 * time.Millisecond
						for _, r := range d.raw { // its process hears, and does nothing
							sub := r.Subscribe(background, "stopped")
							defer sub.Close()
							_, err := sub.Receive(background)
							must(t, err)
							must(t, r.ZAdd(background, script.KeysOf(limits.DefaultPrefix, "job", "").Queue, redis.Z{Score: 1, Member: "stopped"}).Err())
						}
					}
					got := make(chan *Lock, len(waiters))
					for _, w := range waiters {
						go func() { got <- <-goLock(t, w, "job") }()
					}
					time.Sleep(c.work)
					must(t, lock.Unlock(background))
					for range waiters {
						next := have(t, got)
						if after := time.Since(start); after < c.least || after > bound {
							t.Errorf("got it after %v, want %v to %v", after, c.least, bound)
						}
						must(t, next.Unlock(background))
					}
				})
			})
		}
	}
}

// A re-entry may ask for it, or for more. It counts from when the lock was acquired first.
func TestReEntriesThatHoldAtLeast(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		a, b := d.reached(), d.reached()
		start := time.Now()
		outer := mustTry(t, a, "job", WithHoldAtLeast(time.Second))
		time.Sleep(500 * time.Millisecond)
		inner, err := a.TryLock(outer.Context(), "job", WithHoldAtLeast(3*time.Second))
		must(t, err)
		must(t, inner.Unlock(background))
		if !outer.Valid() || lockOn(t, d.raw[0], "job").owner == "" {
			t.Error("an inner Unlock ended it")
		}
		third, err := a.TryLock(outer.Context(), "job", WithHoldAtLeast(2*time.Second))
		must(t, err)
		must(t, third.Unlock(background))
		_, err = a.TryLock(outer.Context(), "job", WithHoldAtLeast(2*time.Minute))
		requireOptionError(t, err, "hold at least")
		must(t, outer.Unlock(background))
		requireTaken(t, b, start, 3*time.Second, 100*time.Millisecond)
	})
}

// A hold that was lost keeps nothing: the name is another's. One that ended at its MaxHold does.
func TestHoldsThatEndBeforeTheirUnlockLinger(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		a, b := d.reached(), d.reached()
		start := time.Now()
		lock := mustTry(t, a, "job", WithHoldAtLeast(3*time.Second), WithMaxHold(time.Second))
		<-lock.Context().Done()
		requireErr(t, lock.Unlock(background), ErrExpired)
		requireTaken(t, b, start, 3*time.Second, 100*time.Millisecond)
		requireFree(t, d, "job")

		lock = mustTry(t, a, "job", WithHoldAtLeast(20*time.Second))
		d.drop(a, "job", 0, 1)
		requireErr(t, lock.Extend(background, limits.DefaultTTL), ErrLost)
		requireErr(t, lock.Unlock(background), ErrLost)
		requireFree(t, d, "job")

		// One whose masters forgot it while it was held does not linger there, and Unlock tells.
		lock = mustTry(t, a, "job", WithHoldAtLeast(20*time.Second))
		d.drop(a, "job", 0, 1)
		requireErr(t, lock.Unlock(background), ErrLost)
	})
}

func TestHoldAtLeastWithBadInput(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(WithMaxTTL(40 * time.Second))
		for _, bad := range []time.Duration{0, -time.Second, time.Duration(1<<63 - 1), 39599 * time.Millisecond, 40 * time.Second, time.Hour} {
			_, err := c.TryLock(background, "job", WithHoldAtLeast(bad))
			requireOptionError(t, err, "hold at least")
		}
		must(t, mustTry(t, c, "job", WithHoldAtLeast(39597*time.Millisecond)).Unlock(background))
		// What the client's own settings allow, the deployment does not.
		other := d.reached(WithDrift(0.02))
		_, err := other.TryLock(background, "another", WithHoldAtLeast(39597*time.Millisecond))
		requireOptionError(t, err, "hold at least")
	})
	_, err := New(nil, WithHoldAtLeast(-1))
	requireErr(t, err, ErrBadOption)
}

// A master's clock may be fast by the drift: the key is there for as long as we count.
func TestLingerTTL(t *testing.T) {
	t.Parallel()
	for _, maxTTL := range []time.Duration{limits.MinTTL, time.Minute, 12345678 * time.Microsecond, maxDuration} {
		for _, drift := range []float64{0, 0.01, 0.5, 0.9} {
			most := maxTTL.Truncate(time.Millisecond)
			for atLeastFits(most, maxTTL, drift) != nil {
				most = most / 1000 * 999
			}
			if most > 0 && (quorum.LingerTTL(most, drift) > maxTTL || quorum.LingerTTL(most, drift) < maxTTL*9/10-30*time.Millisecond) {
				t.Errorf("max ttl %v, drift %v: %v fits, and the key lives for %v", maxTTL, drift, most, quorum.LingerTTL(most, drift))
			}
		}
	}
	for _, drift := range []float64{0, 0.01, 0.5, 0.99} {
		for _, left := range []time.Duration{1, time.Millisecond, 20 * time.Millisecond, 1234567 * time.Microsecond, time.Hour} {
			ttl := quorum.LingerTTL(left, drift)
			if atLeast := ttl - quorum.TermsOf(ttl, 0, drift).Drift; atLeast < left-1 || atLeast > left+time.Millisecond || ttl%time.Millisecond != 0 {
				t.Errorf("drift %v: %v for %v lasts %v", drift, ttl, left, atLeast)
			}
		}
	}
}

// Whatever of the same owner comes late finds that the lock is not its any more.
func TestNothingReachesALingeringLock(t *testing.T) {
	t.Parallel()
	d := processes(t, 1, redisproc.Config{AppendFsync: "always"})
	must(t, mustTry(t, d.reached(), "another").Unlock(background))
	r := d.raw[0]
	h := &lease.Owner{ID: identity.NewOwner(identity.NewClient()), Token: 1}
	h.Keys = script.KeysOf(limits.DefaultPrefix, "job", h.ID)
	call := func(c script.Call) script.Vote {
		t.Helper()
		v, err := callIn(script.BatchSource, r, c)
		must(t, err)
		return v
	}
	long, channel := quorum.TermsOf(limits.DefaultTTL, 0, 0), "nobody"
	grant := call(h.AcquireCall(long, nowhere)).Grant
	if v := call(h.LingerCall(5*time.Second, 0)); v.Answer != script.Granted {
		t.Fatal(v)
	}
	want := r.Get(background, h.Keys.Lock).Val()
	h.Token = fence.Token(grant)
	for name, late := range map[string]script.Call{
		"acquire": h.AcquireCall(long, nowhere), "enqueue": h.AcquireCall(long, lease.Place{Channel: &channel}), "reenter": h.ReenterCall(2, long),
		"confirm": h.ConfirmCall(grant), "extend": h.ExtendCall(long), "repair": h.RepairCall(1, long), "exit": h.ExitCall(1),
		"release": h.ReleaseCall(), "pass": h.PassCall(&channel), "undo": h.UndoCall(0, nowhere),
		"verify": script.Verify.Call([]*string{&h.Keys.Lock}, uint64(grant)),
	} {
		if v := call(late); v.Answer == script.Granted || v.Answer == script.Unknown {
			t.Errorf("%s: %+v", name, v)
		}
	}
	if v := call(h.LingerCall(50*time.Second, 0)); v.Answer != script.Granted {
		t.Errorf("a second copy: %+v", v)
	}
	if left := r.PTTL(background, h.Keys.Lock).Val(); r.Get(background, h.Keys.Lock).Val() != want || left <= 0 || left > 5*time.Second {
		t.Errorf("it is %q for %v, want %q", r.Get(background, h.Keys.Lock).Val(), left, want)
	}
}

// A set that did not get all of its names keeps none of them taken, nor does a slot that was had beside another one.
func TestWhatWasNotWorkedUnderDoesNotLinger(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		a, b := d.reached(), d.reached()
		held := mustTry(t, b, "c")
		cfg := a.config.lock
		cfg.atLeast = 20 * time.Second
		set := a.newLocks(background, []string{"a", "b", "c"}, cfg, waitqueue.Ticket{})
		requireErr(t, a.takeInOrder(set, set.names, &waitLimit{client: a, wait: d.request(), since: a.now()}), ErrHeld)
		for _, name := range []string{"a", "b"} {
			if got := d.holders(name); strings.Count(got, "1") < 2 {
				t.Errorf("it has not taken %s: held on %s", name, got)
			}
		}
		set.abandon()
		synctest.Wait()
		for _, name := range []string{"a", "b"} {
			must(t, mustTry(t, b, name).Unlock(background))
		}
		must(t, held.Unlock(background))

		locks, err := a.LockAll(background, []string{"a", "b", "c"}, WithHoldAtLeast(20*time.Second))
		must(t, err)
		must(t, locks.Unlock(background))
		for _, name := range []string{"a", "b", "c"} {
			_, err := b.TryLock(background, name)
			requireErr(t, err, ErrHeld)
		}

		var slots []*Lock
		for range 2 {
			slots = append(slots, mustTry(t, b, "jobs", WithSlots(2)))
		}
		waiting := make(chan *Lock)
		go func() {
			lock, err := a.Lock(background, "jobs", WithSlots(2), WithHoldAtLeast(20*time.Second))
			must(t, err)
			waiting <- lock
		}()
		synctest.Wait()
		for _, lock := range slots {
			go func() { must(t, lock.Unlock(background)) }() // it is called to both
		}
		lock := <-waiting
		synctest.Wait()
		must(t, mustTry(t, b, "jobs", WithSlots(2)).Unlock(background))
		must(t, lock.Unlock(background))
	})
}

// All names of a set stay taken from when the last one was had, however long the first was before.
func TestASetHoldsAtLeastFromItsLastName(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		const least, waits = 20 * time.Second, 10 * time.Second
		a, b := d.reached(), d.reached()
		held := mustTry(t, b, "c")
		cfg := a.config.lock
		cfg.atLeast = least
		set := a.newLocks(background, []string{"a", "b", "c"}, cfg, waitqueue.Ticket{})
		done := make(chan error, 1)
		go func() {
			done <- a.takeInOrder(set, set.names, &waitLimit{client: a, wait: forever, since: a.now()})
		}()
		d.inLine("c", 1)
		time.Sleep(waits)
		must(t, held.Unlock(background))
		must(t, <-done)
		locks, err := set.finish(cfg)
		must(t, err)
		all := time.Now()
		must(t, locks.Unlock(background))
		time.Sleep(time.Until(all.Add(least - time.Millisecond)))
		for _, name := range locks.Names() {
			if _, err := b.TryLock(background, name); !errors.Is(err, ErrHeld) {
				t.Errorf("%s just before: %v", name, err)
			}
		}
		time.Sleep(time.Until(all.Add(least + time.Second)))
		for _, name := range locks.Names() {
			must(t, mustTry(t, b, name).Unlock(background))
		}
	})
}

// The first two in line give up while the lock lingers. They knew until when; the third one learns it then.
func TestALingeringLockIsToldToThoseBehind(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job", WithHoldAtLeast(4*time.Second))
		ctx, cancel := context.WithCancel(background)
		var left sync.WaitGroup
		for i := range 2 {
			w := d.reached()
			left.Go(func() { _, _ = w.Lock(ctx, "job") })
			d.inLine("job", int64(i+1))
		}
		third := d.reached()
		began := time.Now()
		got := goLock(t, third, "job")
		d.inLine("job", 3)
		must(t, lock.Unlock(background))
		time.Sleep(time.Second)
		cancel()
		left.Wait()
		must(t, have(t, got).Unlock(background))
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("the third in line got it after %v", took)
		}
	})
}
