package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// The token that is returned is between the old holder's and that of the one that waits, who is
// called. The old holder believes in its lock until it renews.
func forceUnlock(t *testing.T, d *deployment) {
	old, operator, next := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	for range 3 {
		lock := mustTry(t, old, "job", WithoutWatchdog())
		inner := mustTry2(t, old, lock.Context(), "job")
		settled(t, old)
		waiter := goLock(t, next, "job")
		d.inLine("job", 1)
		token := mustForce(t, operator, "job", lock)
		started := time.Now()
		served := have(t, waiter)
		if took := time.Since(started); took > d.either(100*time.Millisecond, limits.DefaultTTL/2) {
			t.Errorf("the one that waits was served after %v: nobody called it", took)
		}
		if !(lock.Token() < token && token < served.Token()) {
			t.Errorf("tokens %v, %v and %v do not grow", lock.Token(), token, served.Token())
		}
		if !lock.Valid() || !inner.Valid() {
			t.Error("the old holder knows, and nobody told it")
		}
		if v, _ := operator.Verify(background, "job", lock.Token()); v != VerifyStale {
			t.Errorf("its token is %v", v)
		}
		requireErr(t, lock.Extend(background, d.ttl()), ErrLost)
		requireErr(t, context.Cause(inner.Context()), ErrLost)
		requireErr(t, inner.Unlock(background), ErrLost)
		requireErr(t, lock.Unlock(background), ErrLost)
		if v, err := operator.Verify(background, "job", served.Token()); v != VerifyValid {
			t.Errorf("the next one's token is %v, %v", v, err)
		}
		must(t, served.Unlock(background))
		requireFree(t, d, "job")
	}
	d.inLine("job", 0)
}

// The watchdog finds out by itself, long before the lease ends.
func forcedHolderIsTold(t *testing.T, d *deployment) {
	old, operator := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, old, "job", WithTTL(2*d.ttl()))
	token := mustForce(t, operator, "job", lock)
	within(t, "the holder is told", lock.Context().Done())
	requireErr(t, context.Cause(lock.Context()), ErrLost)
	requireErr(t, lock.Unlock(background), ErrLost)
	if again := mustForce(t, operator, "job"); again <= token {
		t.Errorf("of a name that nobody has: token %v after %v", again, token)
	}
	requireFree(t, d, "job")
}

// Who came after the inspection keeps the lock, whatever is left of the one before.
func forceTakesOnlyWhatWasShown(t *testing.T, d *deployment) {
	old, operator, rival := d.reached(), d.reached(), d.reached()
	first := mustTry(t, old, "job")
	settled(t, old)
	key := script.KeysOf(limits.DefaultPrefix, "job", "").Lock
	value := d.raw[0].Get(background, key).Val()
	must(t, first.Unlock(background))
	requireFree(t, d, "job")
	second := mustTry(t, rival, "job", WithoutWatchdog())
	settled(t, rival)
	for _, r := range d.raw[3:] { // where a release was lost
		must(t, r.Set(background, key, value, time.Minute).Err())
	}
	token, err := operator.forceUnlock(background, "job", shown(first))
	requireErr(t, err, ErrHeld)
	if q, _ := errors.AsType[*QuorumError](err); q.Op == opForceUnlock || token != 0 {
		t.Errorf("token %v, %v", token, err)
	}
	settled(t, operator)
	d.inLine("job", 0)
	for i, r := range d.raw {
		want := second.h.ID
		if i >= 3 {
			want = ""
		}
		if l := lockOn(t, r, "job"); l.owner != want {
			t.Errorf("master %d has %v, want owner %q", i, l, want)
		}
	}
	must(t, second.Extend(background, limits.DefaultTTL))
	must(t, second.Unlock(background))
}

// Two masters are down when the lock is taken, and have it yet when they come back. The old
// holder renews there, does not hear from a third, and repairs what the others lost: but those
// refuse it.
func forcedHolderStaysOut(t *testing.T, d *deployment) {
	old, operator := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, old, "job", WithoutWatchdog())
	settled(t, old)
	for _, m := range d.masters[3:] {
		m.die()
	}
	token := mustForce(t, operator, "job", lock)
	eventually(t, "no master is asked any more", func() bool { // else those that come back are
		return !slices.ContainsFunc(operator.masters, func(m *master.Master) bool { return m.Unanswered() > 0 })
	})
	for _, m := range d.masters[3:] {
		m.revive()
	}
	eventually(t, "the old holder reaches all", func() bool { return allUp(old) })
	if got := d.holders("job"); got != "00011" {
		t.Fatalf("held on %s", got)
	}
	d.masters[2].freeze()
	for i := range 4 {
		err := lock.Extend(background, limits.DefaultTTL)
		if err == nil {
			t.Fatalf("renewal %d: the old holder has a quorum again", i)
		}
		requireErr(t, err, ErrNoQuorum)
	}
	if got := d.holders("job"); !strings.HasPrefix(got, "00") {
		t.Errorf("held on %s", got)
	}
	d.masters[2].thaw()
	eventually(t, "the old holder is told", func() bool { return errors.Is(lock.Extend(background, limits.DefaultTTL), ErrLost) })
	next, err := operator.Lock(background, "job", WithWait(patience))
	must(t, err)
	if !(lock.Token() < token && token < next.Token()) {
		t.Errorf("tokens %v, %v and %v do not grow", lock.Token(), token, next.Token())
	}
	must(t, next.Unlock(background))
	requireErr(t, lock.Unlock(background), ErrLost)
}

// With too few masters the holder may stay, and another try takes the lock.
func forceNeedsAQuorum(t *testing.T, d *deployment) {
	old, operator := d.reached(WithRequestTimeout(d.request())), d.reached(WithRequestTimeout(d.request()))
	lock := mustTry(t, old, "job", WithoutWatchdog())
	settled(t, old)
	for _, m := range d.masters[2:] {
		m.die()
	}
	token, err := operator.forceUnlock(background, "job", shown(lock))
	requireErr(t, err, ErrNoQuorum)
	if q, _ := errors.AsType[*QuorumError](err); token != 0 || q.Op != opForceUnlock || len(q.Votes) != 5 {
		t.Errorf("token %v, %v", token, err)
	}
	for _, m := range d.masters[2:] {
		m.revive()
	}
	eventually(t, "all masters are reached", func() bool { return allUp(old) && allUp(operator) })
	must(t, lock.Extend(background, limits.DefaultTTL))
	token, err = operator.forceUnlock(background, "job", shown(lock))
	must(t, err)
	if token <= lock.Token() {
		t.Errorf("token %v after %v", token, lock.Token())
	}
	requireErr(t, lock.Extend(background, limits.DefaultTTL), ErrLost)
	requireFree(t, d, "job")
}

// All readers that are shown are taken out, and no other.
func forceOutReaders(t *testing.T, d *deployment) {
	a, b, operator := d.reached(), d.reached(), d.reached()
	read := func(c *Client) *Lock {
		lock, err := c.TryRLock(background, "job", WithoutWatchdog())
		must(t, err)
		settled(t, c)
		return lock
	}
	one, two := read(a), read(b)
	late := read(b)
	token, err := operator.forceUnlock(background, "job", shown(one, two))
	requireErr(t, err, ErrHeld)
	if token != 0 {
		t.Errorf("token %v", token)
	}
	for _, lock := range []*Lock{one, two} {
		requireErr(t, lock.Extend(background, d.ttl()), ErrLost)
	}
	must(t, late.Extend(background, limits.DefaultTTL))

	waiter := goLock(t, a, "job")
	d.inLine("job", 1)
	token = mustForce(t, operator, "job", late)
	writer := have(t, waiter)
	if token <= late.LastToken() || writer.Token() <= token {
		t.Errorf("tokens: a reader knew of %v, then %v, then %v", late.LastToken(), token, writer.Token())
	}
	requireErr(t, late.Extend(background, d.ttl()), ErrLost)
	must(t, writer.Unlock(background))
	requireFree(t, d, "job")
	d.inLine("job", 0)
}

// What lingers is taken too, if it is what was shown.
func forceEndsLingering(t *testing.T, d *deployment) {
	old, operator, next := d.reached(), d.reached(), d.reached()
	linger := func() *Lock {
		lock := mustTry(t, old, "job", WithHoldAtLeast(limits.DefaultMaxTTL/2))
		settled(t, old)
		must(t, lock.Unlock(background))
		settled(t, old)
		return lock
	}
	lock := linger()
	waiter := goLock(t, next, "job")
	d.inLine("job", 1)
	started := time.Now()
	token := mustForce(t, operator, "job", lock)
	served := have(t, waiter)
	if took := time.Since(started); took > d.either(100*time.Millisecond, limits.DefaultMaxTTL/4) {
		t.Errorf("the one that waits was served after %v", took)
	}
	if !(lock.Token() < token && token < served.Token()) {
		t.Errorf("tokens %v, %v and %v do not grow", lock.Token(), token, served.Token())
	}
	must(t, served.Unlock(background))
	requireFree(t, d, "job")

	later := linger()
	_, err := operator.forceUnlock(background, "job", shown(lock))
	requireErr(t, err, ErrHeld)
	for i, r := range d.raw {
		if value := r.Get(background, script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Val(); !strings.HasPrefix(value, "- "+later.h.ID) {
			t.Errorf("another one that lingers: master %d has %q", i, value)
		}
	}
	mustForce(t, operator, "job", later)
	requireFree(t, d, "job")
}

// Clients contend, masters die, and an operator takes the lock again and again: each token is above
// all that were known when it was asked for.
func TestTokensGrowUnderForce(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		var known atomic.Uint64
		grows := func(before uint64, token fence.Token) {
			if uint64(token) <= before {
				t.Errorf("token %v, and %v was known before it was asked for", token, before)
			}
			for was := known.Load(); was < uint64(token) && !known.CompareAndSwap(was, uint64(token)); was = known.Load() {
			}
		}
		over, end := context.WithTimeout(background, 20*time.Second)
		defer end()
		var all sync.WaitGroup
		var served, forced, lost atomic.Int64
		var last atomic.Pointer[Lock]
		for range 4 {
			c := d.reached(WithTTL(d.ttl()), WithRequestTimeout(d.request()))
			all.Go(func() {
				for over.Err() == nil {
					before := known.Load()
					lock, err := c.Lock(over, "job")
					if err != nil {
						continue
					}
					grows(before, lock.Token())
					last.Store(lock)
					served.Add(1)
					time.Sleep(time.Duration(rand.IntN(int(d.ttl()))))
					if err := lock.Unlock(background); errors.Is(err, ErrLost) {
						lost.Add(1)
					}
				}
			})
		}
		operator := d.reached(WithTTL(d.ttl()), WithRequestTimeout(d.request()))
		all.Go(func() {
			for over.Err() == nil {
				time.Sleep(time.Duration(rand.IntN(int(d.ttl()))))
				holder := last.Load()
				if holder == nil {
					continue
				}
				time.Sleep(time.Duration(rand.IntN(int(100 * time.Millisecond))))
				before := known.Load()
				if token, _ := operator.forceUnlock(over, "job", shown(holder)); token.Valid() {
					grows(before, token)
					forced.Add(1)
				}
			}
		})
		all.Go(func() {
			for over.Err() == nil {
				for _, m := range d.masters[:2] {
					m.die()
					time.Sleep(time.Duration(rand.IntN(int(d.ttl()))))
				}
				for _, m := range d.masters[:2] {
					m.revive()
				}
				time.Sleep(time.Duration(rand.IntN(int(d.ttl()))))
			}
		})
		all.Wait()
		t.Logf("%d were served, %d of them lost the lock, %d were forced", served.Load(), lost.Load(), forced.Load())
		if served.Load() == 0 || forced.Load() == 0 || lost.Load() == 0 {
			t.Error("nothing was tested")
		}
	})
}

// What the old holder has under way is refused for as long as its lease may last.
func TestForcedOwnersAreMarked(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		old, operator := d.reached(WithTTL(limits.DefaultMaxTTL)), d.reached()
		lock := mustTry(t, old, "job", WithoutWatchdog())
		settled(t, old)
		h := lock.h
		mustForce(t, operator, "job", lock)
		for _, wait := range []time.Duration{0, limits.DefaultMaxTTL + lease.GoneTTL} {
			time.Sleep(wait)
			for i, r := range d.raw {
				for _, call := range []script.Call{h.AcquireCall(h.Terms(), nowhere), h.RepairCall(1, h.Terms()), h.ExtendCall(h.Terms()), h.ReenterCall(2, h.Terms())} {
					if v, _ := callIn(script.BatchSource, r, call); v.Answer == script.Granted {
						t.Errorf("after %v master %d grants %s", wait, i, call.Name)
					}
				}
			}
		}
		if got := d.holders("job"); got != "000" {
			t.Errorf("held on %s", got)
		}
	})
}

// A token is worth nothing while one that was shown may come back: what puts it out was lost, and
// the acquire, in another batch, was not.
func TestForceUnlockNeedsAllToBeOut(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c := faultClient(d)
	var readers []core.Acquisition
	for range master.MaxGroup { // the acquire leaves behind them, in a batch of its own
		owner := identity.NewOwner(identity.NewClient())
		readers = append(readers, core.Acquisition{Owner: owner, Stored: owner})
	}
	var cuts []*faultproxy.Fault
	for _, p := range proxies[:2] {
		cuts = append(cuts, p.Add(on(script.Undo, 0, faultproxy.CutBeforeRequest)))
	}
	token, err := c.forceUnlock(background, "job", readers)
	requireErr(t, err, ErrNoQuorum)
	if q, _ := errors.AsType[*QuorumError](err); token != 0 || q.Op != opForceUnlock {
		t.Errorf("token %v, %v", token, err)
	}
	for _, cut := range cuts {
		cut.Remove()
	}
	requireFree(t, d, "job")
	_, err = c.forceUnlock(background, "job", readers)
	must(t, err)
}

// A slot is a name like any other here, and the holder may be the client's own.
func TestForceUnlockOfASlot(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job", WithSlots(1), WithoutWatchdog())
		waiter := goLock(t, c, "job", WithSlots(1))
		settled(t, c)
		if token := mustForce(t, c, lock.Name(), lock); token <= lock.Token() {
			t.Errorf("token %v after %v", token, lock.Token())
		}
		requireErr(t, lock.Unlock(background), ErrLost)
		must(t, have(t, waiter).Unlock(background))
		requireFree(t, d, "job~slot1")
	})
}

// The acquisition of a ForceUnlock is no caller's: an observer is told of the failed attempts and holds of callers only.
func TestAnObserverIsNotToldOfAForceUnlock(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var events recorder
		holder, rival := d.reached(), d.reached()
		operator := d.reached(WithObserver(Observer{
			Acquired:      func(_ context.Context, a Acquisition) { events.note("acquired %s", a.Name) },
			AttemptFailed: func(_ context.Context, a FailedAttempt) { events.note("failed %s", a.Name) },
			Ended:         func(_ context.Context, e HoldEnd) { events.note("ended %s", e.Name) },
		}))
		lock := mustTry(t, holder, "job")
		settled(t, holder)
		token := mustForce(t, operator, "job", lock)
		if token <= lock.Token() {
			t.Errorf("token %v, taken from %v", token, lock.Token())
		}
		mustTry(t, rival, "job")
		_, err := operator.forceUnlock(background, "job", shown(lock))
		requireErr(t, err, ErrHeld)
		for _, what := range []string{"acquired job", "failed job", "ended job"} {
			if n := events.count(what); n > 0 {
				t.Errorf("told %d times of what it %s", n, what)
			}
		}
	})
}

func TestVerify(t *testing.T) {
	t.Parallel()
	d := processes(t, 5, redisproc.Config{})
	a, b := d.reached(), d.reached()
	k := script.KeysOf(limits.DefaultPrefix, "job", "")
	for i := range 3 { // skewed, so that the token has to be confirmed
		must(t, d.raw[i].IncrBy(background, k.Fence, int64(10*i)).Err())
	}
	expect := func(what string, token fence.Token, want Verdict) {
		t.Helper()
		got, err := b.Verify(background, "job", token)
		if got != want || (err != nil) != (want == VerifyUnknown) {
			t.Errorf("%s: %v (%v), want %v", what, got, err, want)
		}
	}
	first := mustTry(t, a, "job", WithoutWatchdog())
	expect("held", first.Token(), VerifyValid)
	expect("never minted", first.Token()+1, VerifyStale)
	must(t, first.Unlock(background))
	expect("released", first.Token(), VerifyStale)
	second, err := a.Lock(background, "job", WithoutWatchdog())
	must(t, err)
	expect("overtaken", first.Token(), VerifyStale)
	expect("its successor", second.Token(), VerifyValid)
	for i := range 3 {
		d.masters[i].freeze()
	}
	expect("a majority hung", second.Token(), VerifyUnknown)
	for i := range 3 {
		d.masters[i].thaw()
	}
	must(t, second.Unlock(background))
	_, err = b.Verify(background, "job", 0)
	requireOptionError(t, err, "token")
	_, err = b.Verify(background, "", 1)
	requireOptionError(t, err, "name")
}

func mustTry2(t *testing.T, c *Client, ctx context.Context, name string) *Lock {
	t.Helper()
	lock, err := c.TryLock(ctx, name)
	must(t, err)
	return lock
}
