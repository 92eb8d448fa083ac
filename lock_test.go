package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
)

// A failed acquisition returns a nil *Lock. A program may call its methods before it looks at the error.
func TestZeroLock(t *testing.T) {
	for name, l := range map[string]*redlock.Lock{"nil": nil, "zero": new(redlock.Lock)} {
		if l.Name() != "" || l.Token() != 0 || l.Context() != nil || !l.Until().IsZero() || l.Valid() {
			t.Errorf("%s: %q, %v, %v, %v, %v", name, l.Name(), l.Token(), l.Context(), l.Until(), l.Valid())
		}
		harness.RequireErr(t, l.Unlock(context.Background()), redlock.ErrNotAcquired)
		harness.RequireErr(t, l.Extend(context.Background(), time.Second), redlock.ErrNotAcquired)
		if got := fmt.Sprint(l); got != "no lock" {
			t.Errorf("%s: printed as %q", name, got)
		}
	}
}

// Until of an ended lock is not in the future. If the lease ran out unnoticed, Until is the end of the lease, because
// work had to stop then.
func TestUntilOfEndedLock(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		const ago = 20 * time.Second
		for claim, x := range map[string]struct {
			end  func(l *redlock.Lock)
			want time.Duration // from the end of the hold to Until
		}{
			"unlocked": {func(l *redlock.Lock) { harness.Must(t, l.Unlock(context.Background())) }, 0},
			"closed":   {func(l *redlock.Lock) { harness.Hold(l).End(redlock.ErrClosed) }, 0},
			"lost":     {func(l *redlock.Lock) { harness.Hold(l).End(redlock.ErrLost) }, 0},
			"not noticed": {func(l *redlock.Lock) {
				d.Slept.Add(int64(time.Until(l.Until()) + ago))
				harness.Hold(l).End(redlock.ErrExpired)
			}, -ago},
		} {
			lock := harness.MustTry(t, c, claim)
			if !lock.Until().After(time.Now()) {
				t.Errorf("%s: it ended before it was over", claim)
			}
			time.Sleep(time.Second)
			x.end(lock)
			over := time.Now()
			time.Sleep(time.Second)
			if got := lock.Until().Sub(over); got != x.want {
				t.Errorf("%s: until %v after it was over, want %v", claim, got, x.want)
			}
		}
	})
}

// go vet reports a copied value with a field that has pointer methods Lock and Unlock.
func TestVetReportsLockCopy(t *testing.T) {
	locker := reflect.TypeFor[sync.Locker]()
	lock := reflect.TypeFor[redlock.Lock]()
	for i := range lock.NumField() {
		if field := lock.Field(i).Type; field.Kind() == reflect.Struct && reflect.PointerTo(field).Implements(locker) {
			return
		}
	}
	t.Error("no field of Lock is a sync.Locker")
}

// Misuse panics with a clear text, before any request.
func TestMisusePanics(t *testing.T) {
	harness.InVirtualTime(t, 1, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		lock := harness.MustTry(t, c, "job")
		var none context.Context
		work := func(context.Context, fence.Token) error { return nil }
		for name, x := range map[string]struct {
			call func()
			text string
		}{
			"TryLock, nil ctx":     {func() { _, _ = c.TryLock(none, "other") }, "nil context"},
			"Lock, nil ctx":        {func() { _, _ = c.Lock(none, "other") }, "nil context"},
			"Do, nil ctx":          {func() { _ = c.Do(none, "other", work) }, "nil context"},
			"Do, nil work":         {func() { _ = c.Do(context.Background(), "other", nil) }, "nil work"},
			"Verify, nil ctx":      {func() { _, _ = c.Verify(none, "other", 1) }, "nil context"},
			"Extend, nil ctx":      {func() { _ = lock.Extend(none, time.Second) }, "nil context"},
			"TryLock, zero Client": {func() { _, _ = new(redlock.Client).TryLock(context.Background(), "other") }, "New or Open"},
			"TryLock, nil Client":  {func() { _, _ = (*redlock.Client)(nil).TryLock(context.Background(), "other") }, "New or Open"},
			"Lock, with an option": {func() { _, _ = new(redlock.Client).Lock(context.Background(), "other", redlock.WithFair()) }, "New or Open"},
			"Do, zero Client":      {func() { _ = new(redlock.Client).Do(context.Background(), "other", work) }, "New or Open"},
			"Verify, zero Client":  {func() { _, _ = new(redlock.Client).Verify(context.Background(), "other", 1) }, "New or Open"},
			"Close, zero Client":   {func() { _ = new(redlock.Client).Close() }, "New or Open"},
			"Close, nil Client":    {func() { _ = (*redlock.Client)(nil).Close() }, "New or Open"},
		} {
			value := panicOf(x.call)
			if text, ok := value.(string); !ok || !strings.HasPrefix(text, "redlock: ") || !strings.Contains(text, x.text) {
				t.Errorf("%s: the panic is %v, want %q", name, value, x.text)
			}
		}
		if got := d.Holders("other"); got != "0" {
			t.Error("held")
		}
		harness.Must(t, lock.Unlock(none)) // Unlock does not use ctx, and must not fail because of it
	})
}

func panicOf(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}

// renewalsOf is an option that counts renewals.
func renewalsOf(n *atomic.Int64) redlock.Option {
	return redlock.WithObserver(redlock.Observer{Renewed: func(context.Context, redlock.Renewal) { n.Add(1) }})
}

// free waits until nobody has the name, and returns how long that took.
func free(t *testing.T, c *redlock.Client, name string) time.Duration {
	t.Helper()
	start := time.Now()
	lock := harness.MustLock(t, c, name, redlock.WithWait(time.Hour))
	took := time.Since(start)
	harness.Must(t, lock.Unlock(context.Background()))
	return took
}

var errRequestEnded = errors.New("the request has ended")

// A handler forgets Unlock: the name is free within a ttl after the end of the context. Until then the hold lasts.
func TestRenewWithContext(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		var renewed atomic.Int64
		c := d.Client(renewalsOf(&renewed), redlock.WithContextRenewal(), redlock.WithTTL(30*time.Second))
		ctx, end := context.WithCancelCause(context.Background())
		lock, err := c.Lock(ctx, "name")
		harness.Must(t, err)
		time.Sleep(time.Hour + time.Second) // between two renewals
		if !lock.Valid() || renewed.Load() < 350 {
			t.Fatalf("while its context lives it was renewed %d times, and is valid: %v", renewed.Load(), lock.Valid())
		}
		end(errRequestEnded)
		<-lock.Context().Done()
		if cause := context.Cause(lock.Context()); cause != errRequestEnded {
			t.Errorf("its context ended with %v", cause)
		}
		until := time.Until(lock.Until())
		if !lock.Valid() || until <= 0 {
			t.Errorf("the hold ended with the context")
		}
		before := renewed.Load()
		took := free(t, d.Client(), "name")
		if after := renewed.Load(); after != before {
			t.Errorf("%d renewals after the end of the context", after-before)
		}
		if took > 30*time.Second || took < until {
			t.Errorf("free after %v; the hold was to end after %v", took, until)
		}
		if lock.Valid() {
			t.Error("valid, and another had it")
		}
		harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
		harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrReleased)
	})
}

// After the end of the context, Unlock frees the name at once, and Extend lengthens the lease.
func TestUnlockAfterContextEnd(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Client()
		ctx, end := context.WithCancel(context.Background())
		lock, err := c.Lock(ctx, "name", redlock.WithContextRenewal(), redlock.WithTTL(10*time.Second))
		harness.Must(t, err)
		end()
		time.Sleep(8 * time.Second)
		harness.Must(t, lock.Extend(context.Background(), 10*time.Second))
		time.Sleep(8 * time.Second)
		harness.Must(t, lock.Unlock(ctx))
		if took := free(t, d.Client(), "name"); took > time.Second {
			t.Errorf("free after %v", took)
		}
	})
}

// Each entry keeps the renewal going from its begin until it is unlocked or its context ends.
func TestRenewWithContextReentry(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	for _, c := range []struct {
		what  string
		inner []redlock.LockOption
		apart bool // the context of the re-entry does not end with the first entry's
		held  bool // whether the lock is held after the context of the first entry has ended
	}{
		{"both are bound, and one context ends", []redlock.LockOption{redlock.WithContextRenewal()}, true, true},
		{"both are bound, and both end", []redlock.LockOption{redlock.WithContextRenewal()}, false, false},
		{"the inner one is not bound", nil, false, true},
	} {
		harness.RunInVirtualTime(t, c.what, 3, func(t *testing.T, d *harness.Deployment) {
			client := d.Client(redlock.WithTTL(ttl))
			ctx, end := context.WithCancel(context.Background())
			outer, err := client.Lock(ctx, "name", redlock.WithContextRenewal())
			harness.Must(t, err)
			within := outer.Context()
			if c.apart {
				within = context.WithoutCancel(within)
			}
			within, endInner := context.WithCancel(within)
			inner, err := client.Lock(within, "name", c.inner...)
			harness.Must(t, err)
			end()
			time.Sleep(time.Hour)
			if outer.Valid() != c.held {
				t.Fatalf("held: %v, want %v", outer.Valid(), c.held)
			}
			endInner()
			if !c.held {
				harness.RequireErr(t, inner.Unlock(context.Background()), redlock.ErrExpired)
				harness.RequireErr(t, outer.Unlock(context.Background()), redlock.ErrExpired)
				return
			}
			if c.inner == nil { // the hold is renewed until it is unlocked
				harness.Must(t, inner.Unlock(context.Background()))
			}
			time.Sleep(2 * ttl)
			if outer.Valid() {
				t.Error("it is renewed for nobody")
			}
			harness.RequireErr(t, outer.Unlock(context.Background()), redlock.ErrExpired)
		})
	}
}

// If the hold or the call has the option WithoutReentry, the call does not re-enter, and sends no request.
func TestWithoutReentry(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Client()
		refused := func(what string, ctx context.Context, name string, opts ...redlock.LockOption) {
			t.Helper()
			start := time.Now()
			harness.RequireErr(t, harness.ErrOf(c.Lock(ctx, name, opts...)), redlock.ErrNotAcquired, redlock.ErrReentry)
			harness.RequireErr(t, harness.ErrOf(c.TryLock(ctx, name, opts...)), redlock.ErrNotAcquired, redlock.ErrReentry)
			if took := time.Since(start); took != 0 {
				t.Errorf("%s: it took %v", what, took)
			}
		}
		outer := harness.MustTry(t, c, "name", redlock.WithoutReentry())
		refused("the holder does not want it", outer.Context(), "name")
		harness.RequireErr(t, harness.ErrOf(c.RLock(outer.Context(), "name")), redlock.ErrNotAcquired, redlock.ErrReentry)
		harness.RequireErr(t, harness.ErrOf(c.TryLock(context.Background(), "name")), redlock.ErrHeld)
		harness.Must(t, outer.Unlock(context.Background()))

		outer = harness.MustTry(t, c, "name")
		refused("the callee does not want it", outer.Context(), "name", redlock.WithoutReentry())
		inner := harness.MustEnter(t, c, outer.Context(), "name")
		harness.Must(t, inner.Unlock(context.Background()))
		harness.Must(t, outer.Unlock(context.Background()))
		next, err := c.Lock(context.WithoutCancel(outer.Context()), "name", redlock.WithoutReentry()) // its context carries no lock: the acquisition is fresh
		harness.Must(t, err)
		harness.Must(t, next.Unlock(context.Background()))

		set, err := c.LockAll(context.Background(), []string{"a", "b"}, redlock.WithoutReentry())
		harness.Must(t, err)
		refused("a name of a set", set.Context(), "b")
		harness.Must(t, set.Unlock(context.Background()))
	})
}

// Masters have no record of entries, so the Unlock of an inner handle sends nothing.
func TestInnerUnlockSendsNothing(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		d.Client() // founds the deployment
		d.MoveAway(func() time.Duration { return 100 * time.Millisecond })
		c := d.Reached(redlock.WithRequestTimeout(time.Second))
		outer := harness.MustTry(t, c, "job")
		inner := harness.MustEnter(t, c, outer.Context(), "job")
		start := time.Now()
		harness.Must(t, inner.Unlock(context.Background()))
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
		if inner.Context().Err() == nil || outer.Context().Err() != nil {
			t.Errorf("contexts: inner %v, outer %v", inner.Context().Err(), outer.Context().Err())
		}
		harness.Must(t, outer.Unlock(context.Background()))
	})
}

// A hold outlives its first caller's context. The Context of a re-entry ends with the context of its call, with its
// Unlock, or with the hold.
func TestReentryOutlivesOuterContext(t *testing.T) {
	t.Parallel()
	for what, lock := range map[string]func(c *redlock.Client, ctx context.Context) (context.Context, func(context.Context) error, error){
		"a lock": func(c *redlock.Client, ctx context.Context) (context.Context, func(context.Context) error, error) {
			l, err := c.Lock(ctx, "job")
			return l.Context(), l.Unlock, err
		},
		"a set": func(c *redlock.Client, ctx context.Context) (context.Context, func(context.Context) error, error) {
			l, err := c.LockAll(ctx, []string{"another", "job"})
			return l.Context(), l.Unlock, err
		},
	} {
		harness.RunInVirtualTime(t, what, 3, func(t *testing.T, d *harness.Deployment) {
			c := d.Reached()
			request, end := context.WithCancelCause(context.Background())
			first, unlock, err := lock(c, request)
			harness.Must(t, err)
			enter := func(within context.Context) *redlock.Lock {
				t.Helper()
				l, err := c.Lock(within, "job", redlock.WithContextRenewal())
				harness.Must(t, err)
				return l
			}
			ended := func(l *redlock.Lock, want error) {
				t.Helper()
				synctest.Wait()
				if got := context.Cause(l.Context()); got != want {
					t.Errorf("its context ended with %v, want %v", got, want)
				}
			}
			apart := context.WithoutCancel(first)
			own, endOwn := context.WithCancelCause(apart)
			second, third, within := enter(apart), enter(own), enter(first)
			end(errRequestEnded)
			if cause := context.Cause(first); cause != errRequestEnded {
				t.Errorf("the first context ended with %v", cause)
			}
			ended(within, errRequestEnded)
			ended(second, nil)
			ended(third, nil)
			later, latest := enter(second.Context()), enter(apart)
			ended(later, nil)
			endOwn(errRequestEnded)
			ended(third, errRequestEnded)
			harness.Must(t, later.Unlock(context.Background()))
			ended(later, redlock.ErrReleased)
			ended(second, nil)

			d.Drop(c, "job", 0, 1)
			harness.RequireErr(t, second.Extend(context.Background(), limits.DefaultTTL), redlock.ErrLost)
			for _, l := range []*redlock.Lock{second, latest} {
				if cause := context.Cause(l.Context()); cause != redlock.ErrLost {
					t.Errorf("the hold is over, and a context ended with %v", cause)
				}
			}
			for _, l := range []*redlock.Lock{second, third, within, latest} {
				harness.RequireErr(t, l.Unlock(context.Background()), redlock.ErrLost)
			}
			harness.RequireErr(t, unlock(context.Background()), redlock.ErrLost)
		})
	}
}

// callingBack is a context type of a caller. Package context calls its AfterFunc, and later the stop function that
// AfterFunc returned. This stop function runs the caller's code. The context does not end.
type callingBack struct {
	context.Context
	end     chan struct{}
	stopped func()
}

func (c callingBack) Done() <-chan struct{} { return c.end }

func (c callingBack) Err() error { return nil }

func (c callingBack) AfterFunc(func()) (stop func() bool) {
	return func() bool { c.stopped(); return true }
}

// The code of a caller's context may call methods of the lock, even while the hold ends.
func TestContextCallsLock(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		var first, second *redlock.Lock
		asks := func(ctx context.Context) context.Context {
			return callingBack{ctx, make(chan struct{}), func() { _, _ = first.Valid(), second.Valid() }}
		}
		first, err := c.Lock(asks(context.Background()), "job", redlock.WithContextRenewal())
		harness.Must(t, err)
		second, err = c.Lock(asks(first.Context()), "job", redlock.WithContextRenewal())
		harness.Must(t, err)
		d.Drop(c, "job", 0, 1)
		harness.RequireErr(t, second.Extend(context.Background(), limits.DefaultTTL), redlock.ErrLost)
		harness.RequireErr(t, second.Unlock(context.Background()), redlock.ErrLost)
		harness.RequireErr(t, first.Unlock(context.Background()), redlock.ErrLost)
	})
}

// A context re-enters the lock that it carries, if that lock is held by the same client. Otherwise the lock is acquired
// fresh.
func TestContextReentry(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c, other := d.Reached(), d.Reached()
		harness.Must(t, harness.MustTry(t, c, "b").Unlock(context.Background())) // the tokens of b differ from those of a
		a := harness.MustTry(t, c, "a")
		b := harness.MustEnter(t, c, a.Context(), "b")
		if b.Name() != "b" || harness.Hold(b) == harness.Hold(a) {
			t.Fatalf("under the lock of a, it has %v for b", b)
		}
		for _, ctx := range []context.Context{a.Context(), b.Context()} {
			inner := harness.MustEnter(t, c, ctx, "a")
			if token, _ := fence.FromContext(inner.Context()); harness.Hold(inner) != harness.Hold(a) || token != a.Token() {
				t.Errorf("it has %v for a, want %v again; its context carries %v", inner, a, token)
			}
			harness.Must(t, inner.Unlock(context.Background()))
			harness.RequireErr(t, harness.ErrOf(other.TryLock(ctx, "a")), redlock.ErrHeld)
		}
		under := context.WithoutCancel(b.Context())
		harness.Must(t, a.Unlock(context.Background()))
		fresh, err := c.TryLock(under, "a") // a released hold is not re-entered
		harness.Must(t, err)
		if harness.Hold(fresh) == harness.Hold(a) || fresh.Token() <= a.Token() {
			t.Errorf("it has %v, after %v", fresh, a)
		}
		harness.UnlockAll(t, fresh, b)
	})
}
