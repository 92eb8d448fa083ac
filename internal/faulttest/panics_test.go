package faulttest

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/harness"
)

// breaker has an observer. After the breaker was armed, one function of the observer panics once, or ends its
// goroutine. The breaker counts open holds.
type breaker struct {
	at    string // the function
	how   func()
	armed atomic.Bool
	holds atomic.Int64
}

func (b *breaker) breaks(at string) {
	if b.at == at && b.armed.CompareAndSwap(true, false) {
		b.how()
	}
}

func (b *breaker) observer() redlock.Observer {
	return redlock.Observer{
		Started:       func(ctx context.Context, _ redlock.LockCall) context.Context { b.breaks("Started"); return ctx },
		AttemptFailed: func(context.Context, redlock.FailedAttempt) { b.breaks("AttemptFailed") },
		Acquired:      func(context.Context, redlock.Acquisition) { b.holds.Add(1); b.breaks("Acquired") },
		Finished:      func(context.Context, redlock.LockResult) { b.breaks("Finished") },
		Ended:         func(context.Context, redlock.HoldEnd) { b.holds.Add(-1); b.breaks("Ended") },
		Unlocked:      func(context.Context, redlock.UnlockResult) { b.breaks("Unlocked") },
	}
}

// breaksIn runs a call in which the observer panics or ends the goroutine.
func (b *breaker) breaksIn(t *testing.T, call func()) {
	t.Helper()
	b.armed.Store(true)
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() { _ = recover() }()
		call()
		t.Error("the call returned")
	}()
	<-over
}

// ways are the ways not to return from a function.
var ways = map[string]func(){"panic": func() { panic("by an observer") }, "goexit": runtime.Goexit}

// lockKinds are the kinds of calls that lock.
var lockKinds = map[string]func(c *redlock.Client) (unlock func() error, err error){
	"TryLock": func(c *redlock.Client) (func() error, error) { return unlockOf(c.TryLock(context.Background(), "a")) },
	"Lock":    func(c *redlock.Client) (func() error, error) { return unlockOf(c.Lock(context.Background(), "a")) },
	"RLock":   func(c *redlock.Client) (func() error, error) { return unlockOf(c.RLock(context.Background(), "a")) },
	"WithSlots": func(c *redlock.Client) (func() error, error) {
		return unlockOf(c.Lock(context.Background(), "a", redlock.WithSlots(1)))
	},
	"TryLockAll": func(c *redlock.Client) (func() error, error) {
		return unlockOf(c.TryLockAll(context.Background(), []string{"a", "b", "c"}))
	},
	"LockAll": func(c *redlock.Client) (func() error, error) {
		return unlockOf(c.LockAll(context.Background(), []string{"a", "b", "c"}))
	},
}

func unlockOf(held interface{ Unlock(context.Context) error }, err error) (func() error, error) {
	return func() error { return held.Unlock(context.Background()) }, err
}

// everyBreak runs a test for each kind of call, and each way not to return from one of the functions.
func everyBreak(t *testing.T, test func(t *testing.T, d *harness.Deployment, b *breaker, c *redlock.Client, kind string), functions ...string) {
	for _, at := range functions {
		harness.RunInVirtualTime(t, at, 3, func(t *testing.T, d *harness.Deployment) {
			b := &breaker{at: at}
			c := d.Reached(redlock.WithObserver(b.observer()), redlock.WithWait(5*time.Second))
			for how, breaks := range ways {
				b.how = breaks
				for kind := range lockKinds {
					test(t, d, b, c, kind)
					if t.Failed() {
						t.Fatalf("%s in %s", how, kind)
					}
				}
			}
		})
	}
}

// nothingStays checks that no name is held, and that two clients can lock all names.
func (b *breaker) nothingStays(t *testing.T, d *harness.Deployment, c *redlock.Client, kind string) {
	t.Helper()
	synctest.Wait()
	for _, name := range []string{"a", "b", "c", acquire.SlotName("a", 1)} {
		if got := d.Holders(name); strings.Contains(got, "1") {
			t.Errorf("%s is held on %s", name, got)
		}
	}
	if n := b.holds.Load(); n != 0 {
		t.Errorf("%d holds did not end", n)
	}
	for _, c := range []*redlock.Client{c, d.Reached(redlock.WithWait(5 * time.Second))} {
		unlock, err := lockKinds[kind](c)
		harness.Must(t, err)
		harness.Must(t, unlock())
	}
}

// When an observer does not return during a call that locks, nothing of the call stays behind.
func TestObserverPanicInLock(t *testing.T) {
	t.Parallel()
	everyBreak(t, func(t *testing.T, d *harness.Deployment, b *breaker, c *redlock.Client, kind string) {
		b.breaksIn(t, func() { _, _ = lockKinds[kind](c) })
		b.nothingStays(t, d, c, kind)
	}, "Started", "Acquired", "Finished")
}

// A waiter leaves the queue even if an observer panics. Otherwise others would wait behind it for ever.
func TestObserverPanicInWaiter(t *testing.T) {
	t.Parallel()
	everyBreak(t, func(t *testing.T, d *harness.Deployment, b *breaker, c *redlock.Client, kind string) {
		if strings.HasPrefix(kind, "Try") {
			return
		}
		held := d.Reached()
		before := "TryLock"
		if kind == "WithSlots" {
			before = kind
		}
		unlock, err := lockKinds[before](held)
		harness.Must(t, err)
		b.breaksIn(t, func() { _, _ = lockKinds[kind](c) })
		harness.Must(t, unlock())
		b.nothingStays(t, d, c, kind)
	}, "AttemptFailed")
}

// A re-entry that its caller does not get is undone, and the hold of the other entries goes on.
func TestObserverPanicInReentry(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		b := &breaker{at: "Finished"}
		c := d.Reached(redlock.WithObserver(b.observer()))
		for _, b.how = range ways {
			lock := harness.MustTry(t, c, "a")
			b.breaksIn(t, func() { _, _ = c.TryLock(lock.Context(), "a") })
			if !lock.Valid() {
				t.Error("the hold is over")
			}
			harness.Must(t, lock.Unlock(context.Background()))
			b.nothingStays(t, d, c, "TryLock")
		}
	})
}

// An Unlock frees the names even if an observer panics.
func TestObserverPanicInUnlock(t *testing.T) {
	t.Parallel()
	everyBreak(t, func(t *testing.T, d *harness.Deployment, b *breaker, c *redlock.Client, kind string) {
		unlock, err := lockKinds[kind](c)
		harness.Must(t, err)
		b.breaksIn(t, func() { _ = unlock() })
		b.nothingStays(t, d, c, kind)
	}, "Ended", "Unlocked")
}

// A slot's waiter has a goroutine of its own. When an observer ends this goroutine, the goroutines
// of the other slots go on.
func TestObserverGoexitInSlotWaiter(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var held []*redlock.Lock
		for range 2 {
			held = append(held, harness.MustTry(t, d.Reached(), "a", redlock.WithSlots(2)))
		}
		b := &breaker{at: "AttemptFailed", how: runtime.Goexit}
		c := d.Reached(redlock.WithObserver(b.observer()))
		got := make(chan error, 1)
		go func() {
			lock, err := c.Lock(context.Background(), "a", redlock.WithSlots(2), redlock.WithWait(5*time.Second))
			got <- errors.Join(err, lock.Unlock(context.Background()))
		}()
		synctest.Wait()
		b.armed.Store(true)
		time.Sleep(time.Second)
		for _, l := range held {
			harness.Must(t, l.Unlock(context.Background()))
		}
		// t.Fatal or a panic of this goroutine would call Close, which would wait for the Lock that hangs.
		hangs := time.AfterFunc(harness.Patience, func() { panic("Lock waits for the goroutine that ended") })
		harness.Must(t, <-got)
		hangs.Stop()
	})
}

// When an observer panics in Close, Close still frees all names, and ends all goroutines (the bubble waits for them). A
// later Unlock returns.
func TestObserverPanicInClose(t *testing.T) {
	t.Parallel()
	for how, breaks := range ways {
		for kind := range lockKinds {
			harness.RunInVirtualTime(t, how+" "+kind, 3, func(t *testing.T, d *harness.Deployment) {
				b := &breaker{at: "Ended", how: breaks}
				c := d.Reached(redlock.WithObserver(b.observer()))
				unlock, err := lockKinds[kind](c)
				harness.Must(t, err)
				harness.MustTry(t, c, "d")
				harness.Settled(t, c)
				b.breaksIn(t, func() { _ = c.Close() })
				harness.RequireErr(t, c.Close(), redlock.ErrClosed)
				harness.RequireErr(t, unlock(), redlock.ErrClosed)
				b.nothingStays(t, d, d.Reached(), kind)
				if got := d.Holders("d"); got != "000" {
					t.Errorf("d is held on %s", got)
				}
			})
		}
	}
}

// When a set loses a name, the other names are freed even if the observer's Ended panics.
func TestObserverPanicInLostSet(t *testing.T) {
	t.Parallel()
	for how, breaks := range ways {
		harness.RunInVirtualTime(t, how, 3, func(t *testing.T, d *harness.Deployment) {
			b := &breaker{at: "Ended", how: breaks}
			c := d.Reached(redlock.WithObserver(b.observer()))
			set, err := c.LockAll(context.Background(), []string{"a", "b", "c"})
			harness.Must(t, err)
			harness.Settled(t, c)
			lost := harness.Holds(set)[0]
			b.breaksIn(t, func() { lost.End(redlock.ErrExpired) })
			synctest.Wait()
			for _, h := range harness.Holds(set) {
				if h.Over() == nil || h != lost && d.Holders(h.Name) != "000" {
					t.Errorf("%s is over: %v; held on %s", h.Name, h.Over(), d.Holders(h.Name))
				}
			}
			harness.RequireErr(t, set.Unlock(context.Background()), redlock.ErrExpired)
		})
	}
}
