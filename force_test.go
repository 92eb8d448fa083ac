package redlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// The token that is returned is between the old holder's and that of the one that waits, who is
// called. The old holder believes in its lock until it renews.
func forceUnlock(t *testing.T, d *harness.Deployment) {
	old, operator, next := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	for range 3 {
		lock := harness.MustTry(t, old, "job", redlock.WithoutWatchdog())
		inner := mustTry2(t, old, lock.Context(), "job")
		harness.Settled(t, old)
		waiter := harness.GoLock(t, next, "job")
		d.InLine("job", 1)
		token := harness.MustForce(t, operator, "job", lock)
		started := time.Now()
		served := harness.Have(t, waiter)
		if took := time.Since(started); took > d.Either(100*time.Millisecond, limits.DefaultTTL/2) {
			t.Errorf("the one that waits was served after %v: nobody called it", took)
		}
		if !(lock.Token() < token && token < served.Token()) {
			t.Errorf("tokens %v, %v and %v do not grow", lock.Token(), token, served.Token())
		}
		if !lock.Valid() || !inner.Valid() {
			t.Error("the old holder knows, and nobody told it")
		}
		if v, _ := operator.Verify(context.Background(), "job", lock.Token()); v != redlock.VerifyStale {
			t.Errorf("its token is %v", v)
		}
		harness.RequireErr(t, lock.Extend(context.Background(), d.TTL()), redlock.ErrLost)
		harness.RequireErr(t, context.Cause(inner.Context()), redlock.ErrLost)
		harness.RequireErr(t, inner.Unlock(context.Background()), redlock.ErrLost)
		harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrLost)
		if v, err := operator.Verify(context.Background(), "job", served.Token()); v != redlock.VerifyValid {
			t.Errorf("the next one's token is %v, %v", v, err)
		}
		harness.Must(t, served.Unlock(context.Background()))
		harness.RequireFree(t, d, "job")
	}
	d.InLine("job", 0)
}

// Who came after the inspection keeps the lock, whatever is left of the one before.
func forceTakesOnlyWhatWasShown(t *testing.T, d *harness.Deployment) {
	old, operator, rival := d.Reached(), d.Reached(), d.Reached()
	first := harness.MustTry(t, old, "job")
	harness.Settled(t, old)
	key := script.KeysOf(limits.DefaultPrefix, "job", "").Lock
	value := d.Raw[0].Get(context.Background(), key).Val()
	harness.Must(t, first.Unlock(context.Background()))
	harness.RequireFree(t, d, "job")
	second := harness.MustTry(t, rival, "job", redlock.WithoutWatchdog())
	harness.Settled(t, rival)
	for _, r := range d.Raw[3:] { // where a release was lost
		harness.Must(t, r.Set(context.Background(), key, value, time.Minute).Err())
	}
	token, err := harness.Inside(operator).ForceUnlock(context.Background(), "job", harness.Shown(first))
	harness.RequireErr(t, err, redlock.ErrHeld)
	if q, _ := errors.AsType[*redlock.QuorumError](err); q.Op == "force unlock" || token != 0 {
		t.Errorf("token %v, %v", token, err)
	}
	harness.Settled(t, operator)
	d.InLine("job", 0)
	for i, r := range d.Raw {
		want := harness.Hold(second).ID
		if i >= 3 {
			want = ""
		}
		if l := harness.LockOn(t, r, "job"); l.Owner != want {
			t.Errorf("master %d has %v, want owner %q", i, l, want)
		}
	}
	harness.Must(t, second.Extend(context.Background(), limits.DefaultTTL))
	harness.Must(t, second.Unlock(context.Background()))
}

// With too few masters the holder may stay, and another try takes the lock.
func forceNeedsAQuorum(t *testing.T, d *harness.Deployment) {
	old, operator := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	lock := harness.MustTry(t, old, "job", redlock.WithoutWatchdog())
	harness.Settled(t, old)
	for _, m := range d.Masters[2:] {
		m.Die()
	}
	token, err := harness.Inside(operator).ForceUnlock(context.Background(), "job", harness.Shown(lock))
	harness.RequireErr(t, err, redlock.ErrNoQuorum)
	if q, _ := errors.AsType[*redlock.QuorumError](err); token != 0 || q.Op != "force unlock" || len(q.Votes) != 5 {
		t.Errorf("token %v, %v", token, err)
	}
	for _, m := range d.Masters[2:] {
		m.Revive()
	}
	harness.Eventually(t, "all masters are reached", func() bool { return harness.AllUp(old) && harness.AllUp(operator) })
	harness.Must(t, lock.Extend(context.Background(), limits.DefaultTTL))
	token, err = harness.Inside(operator).ForceUnlock(context.Background(), "job", harness.Shown(lock))
	harness.Must(t, err)
	if token <= lock.Token() {
		t.Errorf("token %v after %v", token, lock.Token())
	}
	harness.RequireErr(t, lock.Extend(context.Background(), limits.DefaultTTL), redlock.ErrLost)
	harness.RequireFree(t, d, "job")
}

// All readers that are shown are taken out, and no other.
func forceOutReaders(t *testing.T, d *harness.Deployment) {
	a, b, operator := d.Reached(), d.Reached(), d.Reached()
	read := func(c *redlock.Client) *redlock.Lock {
		lock, err := c.TryRLock(context.Background(), "job", redlock.WithoutWatchdog())
		harness.Must(t, err)
		harness.Settled(t, c)
		return lock
	}
	one, two := read(a), read(b)
	late := read(b)
	token, err := harness.Inside(operator).ForceUnlock(context.Background(), "job", harness.Shown(one, two))
	harness.RequireErr(t, err, redlock.ErrHeld)
	if token != 0 {
		t.Errorf("token %v", token)
	}
	for _, lock := range []*redlock.Lock{one, two} {
		harness.RequireErr(t, lock.Extend(context.Background(), d.TTL()), redlock.ErrLost)
	}
	harness.Must(t, late.Extend(context.Background(), limits.DefaultTTL))

	waiter := harness.GoLock(t, a, "job")
	d.InLine("job", 1)
	token = harness.MustForce(t, operator, "job", late)
	writer := harness.Have(t, waiter)
	if token <= late.LastToken() || writer.Token() <= token {
		t.Errorf("tokens: a reader knew of %v, then %v, then %v", late.LastToken(), token, writer.Token())
	}
	harness.RequireErr(t, late.Extend(context.Background(), d.TTL()), redlock.ErrLost)
	harness.Must(t, writer.Unlock(context.Background()))
	harness.RequireFree(t, d, "job")
	d.InLine("job", 0)
}

// What lingers is taken too, if it is what was shown.
func forceEndsLingering(t *testing.T, d *harness.Deployment) {
	old, operator, next := d.Reached(), d.Reached(), d.Reached()
	linger := func() *redlock.Lock {
		lock := harness.MustTry(t, old, "job", redlock.WithHoldAtLeast(limits.DefaultMaxTTL/2))
		harness.Settled(t, old)
		harness.Must(t, lock.Unlock(context.Background()))
		harness.Settled(t, old)
		return lock
	}
	lock := linger()
	waiter := harness.GoLock(t, next, "job")
	d.InLine("job", 1)
	started := time.Now()
	token := harness.MustForce(t, operator, "job", lock)
	served := harness.Have(t, waiter)
	if took := time.Since(started); took > d.Either(100*time.Millisecond, limits.DefaultMaxTTL/4) {
		t.Errorf("the one that waits was served after %v", took)
	}
	if !(lock.Token() < token && token < served.Token()) {
		t.Errorf("tokens %v, %v and %v do not grow", lock.Token(), token, served.Token())
	}
	harness.Must(t, served.Unlock(context.Background()))
	harness.RequireFree(t, d, "job")

	later := linger()
	_, err := harness.Inside(operator).ForceUnlock(context.Background(), "job", harness.Shown(lock))
	harness.RequireErr(t, err, redlock.ErrHeld)
	for i, r := range d.Raw {
		if value := r.Get(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Lock).Val(); !strings.HasPrefix(value, "- "+harness.Hold(later).ID) {
			t.Errorf("another one that lingers: master %d has %q", i, value)
		}
	}
	harness.MustForce(t, operator, "job", later)
	harness.RequireFree(t, d, "job")
}

// A token is worth nothing while one that was shown may come back: what puts it out was lost, and
// the acquire, in another batch, was not.
func TestForceUnlockNeedsAllToBeOut(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c := harness.FaultClient(d)
	var readers []acquire.Acquisition
	for range master.MaxGroup { // the acquire leaves behind them, in a batch of its own
		owner := identity.NewOwner(identity.NewClient())
		readers = append(readers, acquire.Acquisition{Owner: owner, Stored: owner})
	}
	var cuts []*faultproxy.Fault
	for _, p := range proxies[:2] {
		cuts = append(cuts, p.Add(harness.On(script.Undo, 0, faultproxy.CutBeforeRequest)))
	}
	token, err := harness.Inside(c).ForceUnlock(context.Background(), "job", readers)
	harness.RequireErr(t, err, redlock.ErrNoQuorum)
	if q, _ := errors.AsType[*redlock.QuorumError](err); token != 0 || q.Op != "force unlock" {
		t.Errorf("token %v, %v", token, err)
	}
	for _, cut := range cuts {
		cut.Remove()
	}
	harness.RequireFree(t, d, "job")
	_, err = harness.Inside(c).ForceUnlock(context.Background(), "job", readers)
	harness.Must(t, err)
}

// The acquisition of a ForceUnlock is no caller's: an observer is told of the failed attempts and
// holds of callers only.
func TestAnObserverIsNotToldOfAForceUnlock(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var events harness.Recorder
		holder, rival := d.Reached(), d.Reached()
		operator := d.Reached(redlock.WithObserver(redlock.Observer{
			Acquired:      func(_ context.Context, a redlock.Acquisition) { events.Note("acquired %s", a.Name) },
			AttemptFailed: func(_ context.Context, a redlock.FailedAttempt) { events.Note("failed %s", a.Name) },
			Ended:         func(_ context.Context, e redlock.HoldEnd) { events.Note("ended %s", e.Name) },
		}))
		lock := harness.MustTry(t, holder, "job")
		harness.Settled(t, holder)
		token := harness.MustForce(t, operator, "job", lock)
		if token <= lock.Token() {
			t.Errorf("token %v, taken from %v", token, lock.Token())
		}
		harness.MustTry(t, rival, "job")
		_, err := harness.Inside(operator).ForceUnlock(context.Background(), "job", harness.Shown(lock))
		harness.RequireErr(t, err, redlock.ErrHeld)
		for _, what := range []string{"acquired job", "failed job", "ended job"} {
			if n := events.Count(what); n > 0 {
				t.Errorf("told %d times of what it %s", n, what)
			}
		}
	})
}

func TestVerify(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 5, redisproc.Config{})
	a, b := d.Reached(), d.Reached()
	k := script.KeysOf(limits.DefaultPrefix, "job", "")
	for i := range 3 { // skewed, so that the token has to be confirmed
		harness.Must(t, d.Raw[i].IncrBy(context.Background(), k.Fence, int64(10*i)).Err())
	}
	expect := func(what string, token fence.Token, want redlock.Verdict) {
		t.Helper()
		got, err := b.Verify(context.Background(), "job", token)
		if got != want || (err != nil) != (want == redlock.VerifyUnknown) {
			t.Errorf("%s: %v (%v), want %v", what, got, err, want)
		}
	}
	first := harness.MustTry(t, a, "job", redlock.WithoutWatchdog())
	expect("held", first.Token(), redlock.VerifyValid)
	expect("never minted", first.Token()+1, redlock.VerifyStale)
	harness.Must(t, first.Unlock(context.Background()))
	expect("released", first.Token(), redlock.VerifyStale)
	second, err := a.Lock(context.Background(), "job", redlock.WithoutWatchdog())
	harness.Must(t, err)
	expect("overtaken", first.Token(), redlock.VerifyStale)
	expect("its successor", second.Token(), redlock.VerifyValid)
	for i := range 3 {
		d.Masters[i].Freeze()
	}
	expect("a majority hung", second.Token(), redlock.VerifyUnknown)
	for i := range 3 {
		d.Masters[i].Thaw()
	}
	harness.Must(t, second.Unlock(context.Background()))
	_, err = b.Verify(context.Background(), "job", 0)
	harness.RequireOptionError(t, err, "token")
	_, err = b.Verify(context.Background(), "", 1)
	harness.RequireOptionError(t, err, "name")
}

func mustTry2(t *testing.T, c *redlock.Client, ctx context.Context, name string) *redlock.Lock {
	t.Helper()
	lock, err := c.TryLock(ctx, name)
	harness.Must(t, err)
	return lock
}
