package redlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// The returned token is between the old holder's token and the token of the waiter that ForceUnlock calls. The old
// holder's hold is valid until its next renewal.
func forceUnlock(t *testing.T, d *harness.Deployment) {
	old, operator, next := d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request())), d.Reached(redlock.WithRequestTimeout(d.Request()))
	for range 3 {
		lock := harness.MustTry(t, old, "job", redlock.WithoutWatchdog())
		inner := harness.MustEnter(t, old, lock.Context(), "job")
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
			t.Error("the old holder's context ended without a renewal")
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

// ForceUnlock fails while an inspected holder may come back. Here the batch of the releases was lost; the acquire was
// in another batch, and arrived.
func TestForceUnlockWaitsForAllReleases(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c := harness.FaultClient(d)
	var readers []acquire.Acquisition
	for range 128 { // as many as fit into a batch: the acquire leaves after them, in a batch of its own
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

// The observer gets no events of ForceUnlock's own acquisition.
func TestForceUnlockIsNotObserved(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var events harness.Recorder
		holder, rival := d.Reached(), d.Reached()
		operator := d.Reached(redlock.WithObserver(redlock.Observer{
			Acquired:      func(_ context.Context, a redlock.Acquisition) { events.Note("acquired %s", a.Name) },
			AttemptFailed: func(_ context.Context, a redlock.FailedAttempt) { events.Note("failed %s", a.Name) },
			Ended:         func(_ context.Context, e redlock.HoldEnd) { events.Note("ended %s", e.Name) },
			Unlocked:      func(_ context.Context, u redlock.UnlockResult) { events.Note("unlocked %s", u.Names[0]) },
		}))
		lock := harness.MustTry(t, holder, "job")
		harness.Settled(t, holder)
		token := harness.MustForce(t, operator, "job", lock)
		if token <= lock.Token() {
			t.Errorf("token %v, taken from %v", token, lock.Token())
		}
		harness.MustTry(t, rival, "job")
		harness.RequireErr(t, harness.ErrOf(harness.Inside(operator).ForceUnlock(context.Background(), "job", harness.Shown(lock))), redlock.ErrHeld)
		for _, what := range []string{"acquired job", "failed job", "ended job", "unlocked job"} {
			if n := events.Count(what); n > 0 {
				t.Errorf("%d events of what it %s", n, what)
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
	second := harness.MustLock(t, a, "job", redlock.WithoutWatchdog())
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
	harness.RequireOptionError(t, harness.ErrOf(b.Verify(context.Background(), "job", 0)), "token")
	harness.RequireOptionError(t, harness.ErrOf(b.Verify(context.Background(), "", 1)), "name")
}
