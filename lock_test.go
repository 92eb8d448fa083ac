package redlock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/lease"
)

// A failed acquisition returns no Lock, and not everybody looks at the error first.
func TestMethodsOfNoLock(t *testing.T) {
	for name, l := range map[string]*Lock{"nil": nil, "zero": new(Lock)} {
		if l.Name() != "" || l.Token() != 0 || l.Context() != nil || !l.Until().IsZero() || l.Valid() {
			t.Errorf("%s: %q, %v, %v, %v, %v", name, l.Name(), l.Token(), l.Context(), l.Until(), l.Valid())
		}
		requireErr(t, l.Unlock(background), ErrNotAcquired)
		requireErr(t, l.Extend(background, time.Second), ErrNotAcquired)
		if got := fmt.Sprint(l); got != "no lock" {
			t.Errorf("%s: printed as %q", name, got)
		}
	}
}

func TestALockPrintsItsNameAndToken(t *testing.T) {
	l := &Lock{h: &lease.Hold{Name: "job", Owner: lease.Owner{ID: "secret", Token: 17}}}
	for _, format := range []string{"%v", "%+v", "%s"} {
		if got, want := fmt.Sprintf(format, l), `lock "job", token 17`; got != want {
			t.Errorf("%s: %s, want %s", format, got, want)
		}
	}
}

// A lease that is over ends at no time to come, whatever ended it. One that ran out
// unnoticed ended when it did: from then on counts the time to stop what was done
// under it.
func TestUntilOfWhatIsOverIsOver(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		const ago = 20 * time.Second
		for claim, x := range map[string]struct {
			end  func(l *Lock)
			want time.Duration // after the end
		}{
			"unlocked":    {func(l *Lock) { must(t, l.Unlock(background)) }, 0},
			"closed":      {func(l *Lock) { l.h.End(ErrClosed) }, 0},
			"lost":        {func(l *Lock) { l.h.End(ErrLost) }, 0},
			"not noticed": {func(l *Lock) { d.slept.Add(int64(time.Until(l.Until()) + ago)); l.h.End(ErrExpired) }, -ago},
		} {
			lock := mustTry(t, c, claim)
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
func TestGoVetKnowsThatALockIsNotCopied(t *testing.T) {
	locker := reflect.TypeFor[sync.Locker]()
	lock := reflect.TypeFor[Lock]()
	for i := range lock.NumField() {
		if field := lock.Field(i).Type; field.Kind() == reflect.Struct && reflect.PointerTo(field).Implements(locker) {
			return
		}
	}
	t.Error("no field of Lock is a sync.Locker")
}

// What cannot have been meant panics, in plain words and before any master is asked.
func TestWhatCannotBeMeantPanics(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 1, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job")
		var none context.Context
		work := func(context.Context, fence.Token) error { return nil }
		for name, x := range map[string]struct {
			call func()
			says string
		}{
			"TryLock, nil ctx":     {func() { _, _ = c.TryLock(none, "other") }, "nil context"},
			"Lock, nil ctx":        {func() { _, _ = c.Lock(none, "other") }, "nil context"},
			"Do, nil ctx":          {func() { _ = c.Do(none, "other", work) }, "nil context"},
			"Do, nil work":         {func() { _ = c.Do(background, "other", nil) }, "nil work"},
			"Verify, nil ctx":      {func() { _, _ = c.Verify(none, "other", 1) }, "nil context"},
			"Extend, nil ctx":      {func() { _ = lock.Extend(none, time.Second) }, "nil context"},
			"TryLock, zero Client": {func() { _, _ = new(Client).TryLock(background, "other") }, "New or Open"},
			"TryLock, nil Client":  {func() { _, _ = (*Client)(nil).TryLock(background, "other") }, "New or Open"},
			"Lock, with an option": {func() { _, _ = new(Client).Lock(background, "other", WithFair()) }, "New or Open"},
			"Do, zero Client":      {func() { _ = new(Client).Do(background, "other", work) }, "New or Open"},
			"Verify, zero Client":  {func() { _, _ = new(Client).Verify(background, "other", 1) }, "New or Open"},
			"Close, zero Client":   {func() { _ = new(Client).Close() }, "New or Open"},
			"Close, nil Client":    {func() { _ = (*Client)(nil).Close() }, "New or Open"},
		} {
			said := panicOf(x.call)
			if text, ok := said.(string); !ok || !strings.HasPrefix(text, "redlock: ") || !strings.Contains(text, x.says) {
				t.Errorf("%s: the panic is %v, want %q", name, said, x.says)
			}
		}
		if got := d.holders("other"); got != "0" {
			t.Error("held")
		}
		must(t, lock.Unlock(none)) // it does not ask ctx, and must not fail for its sake
	})
}

func panicOf(call func()) (value any) {
	defer func() { value = recover() }()
	call()
	return nil
}

// The watchdog renews by the ttl of the last Extend, as long as the hold lasts.
func TestRenewalsGoByTheLastExtend(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job", WithTTL(time.Second))
		must(t, lock.Extend(background, 30*time.Second))
		time.Sleep(25 * time.Second) // it was renewed at 10 s and 20 s
		if left := time.Until(lock.Until()); left < 20*time.Second {
			t.Errorf("%v of the lease are left, want more than 20 s", left)
		}
		must(t, lock.Unlock(background))
	})
}

// renewalsOf is an option that counts renewals.
func renewalsOf(n *atomic.Int64) Option {
	return WithObserver(Observer{Renewed: func(context.Context, Renewal) { n.Add(1) }})
}

// free waits until nobody has the name, and returns how long that took.
func free(t *testing.T, c *Client, name string) time.Duration {
	t.Helper()
	start := time.Now()
	lock, err := c.Lock(background, name, WithWait(time.Hour))
	must(t, err)
	took := time.Since(start)
	must(t, lock.Unlock(background))
	return took
}

var errRequestEnded = errors.New("the request has ended")

// A handler forgets Unlock: the name is free within the ttl. Until then the hold is there.
func TestRenewWithContext(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		var renewed atomic.Int64
		c := d.client(renewalsOf(&renewed), WithContextRenewal(), WithTTL(30*time.Second))
		ctx, end := context.WithCancelCause(background)
		lock, err := c.Lock(ctx, "name")
		must(t, err)
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
		took := free(t, d.client(), "name")
		if after := renewed.Load(); after != before {
			t.Errorf("%d renewals after the end of the context", after-before)
		}
		if took > 30*time.Second || took < until {
			t.Errorf("free after %v; the hold was to end after %v", took, until)
		}
		if lock.Valid() {
			t.Error("valid, and another had it")
		}
		requireErr(t, lock.Unlock(background), ErrExpired)
		requireErr(t, lock.Unlock(background), ErrReleased)
	})
}

// An Unlock after the end of the context frees the name at once, and an Extend lengthens the lease
// by itself.
func TestUnlockAfterTheContext(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.client()
		ctx, end := context.WithCancel(background)
		lock, err := c.Lock(ctx, "name", WithContextRenewal(), WithTTL(10*time.Second))
		must(t, err)
		end()
		time.Sleep(8 * time.Second)
		must(t, lock.Extend(background, 10*time.Second))
		time.Sleep(8 * time.Second)
		must(t, lock.Unlock(ctx))
		if took := free(t, d.client(), "name"); took > time.Second {
			t.Errorf("free after %v", took)
		}
	})
}

// Without the option, the end of the context changes nothing.
func TestWithoutTheOptionTheContextDoesNotCount(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		ctx, end := context.WithCancel(background)
		lock, err := d.client().Lock(ctx, "name")
		must(t, err)
		end()
		time.Sleep(time.Hour)
		must(t, lock.Unlock(background))
	})
}

// Each entry counts by itself, from when it is made until it is unlocked or its context ends.
func TestRenewWithContextAndReEntries(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	for _, c := range []struct {
		what  string
		inner []LockOption
		apart bool // the context of the re-entry lives on
		held  bool // after both contexts but that have ended
	}{
		{"both are bound, and one context ends", []LockOption{WithContextRenewal()}, true, true},
		{"both are bound, and both end", []LockOption{WithContextRenewal()}, false, false},
		{"the inner one is not bound", nil, false, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				client := d.client(WithTTL(ttl))
				ctx, end := context.WithCancel(background)
				outer, err := client.Lock(ctx, "name", WithContextRenewal())
				must(t, err)
				within := outer.Context()
				if c.apart {
					within = context.WithoutCancel(within)
				}
				within, endInner := context.WithCancel(within)
				inner, err := client.Lock(within, "name", c.inner...)
				must(t, err)
				end()
				time.Sleep(time.Hour)
				if outer.Valid() != c.held {
					t.Fatalf("held: %v, want %v", outer.Valid(), c.held)
				}
				endInner()
				if !c.held {
					requireErr(t, inner.Unlock(background), ErrExpired)
					requireErr(t, outer.Unlock(background), ErrExpired)
					return
				}
				must(t, inner.Unlock(background))
				time.Sleep(ttl)
				if outer.Valid() {
					t.Error("renewed, and only the one that is bound is left")
				}
				requireErr(t, outer.Unlock(background), ErrExpired)
			})
		})
	}
}

// An entry that is made after the end of the context has the hold renewed again.
func TestReEntryAfterTheContext(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		client := d.client(WithTTL(30 * time.Second))
		ctx, end := context.WithCancel(background)
		outer, err := client.Lock(ctx, "name", WithContextRenewal())
		must(t, err)
		end()
		time.Sleep(25 * time.Second)
		inner, err := client.Lock(context.WithoutCancel(outer.Context()), "name", WithTTL(time.Second))
		must(t, err)
		time.Sleep(time.Hour)
		must(t, outer.Unlock(background))
		time.Sleep(time.Hour)
		must(t, inner.Unlock(background))
	})
}

// A set is renewed as a whole: for all names, as long as one of them is wanted.
func TestRenewWithContextOfASet(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		client := d.client(WithTTL(30 * time.Second))
		ctx, end := context.WithCancel(background)
		set, err := client.LockAll(ctx, []string{"a", "b"}, WithContextRenewal())
		must(t, err)
		one, err := client.Lock(context.WithoutCancel(set.Context()), "b")
		must(t, err)
		time.Sleep(time.Hour)
		end()
		time.Sleep(time.Hour + time.Second)
		if !set.Valid() {
			t.Fatal("one of its names was entered again, and is renewed")
		}
		must(t, one.Unlock(background))
		other := d.client()
		for _, name := range []string{"a", "b"} {
			if took := free(t, other, name); took > 30*time.Second {
				t.Errorf("%s is free after %v", name, took)
			}
		}
		requireErr(t, set.Unlock(background), ErrExpired)

		ctx, end = context.WithCancel(background)
		set, err = client.LockAll(ctx, []string{"a", "b"}, WithContextRenewal())
		must(t, err)
		end()
		time.Sleep(time.Second)
		must(t, set.Unlock(background))
	})
}

// A slot, a reader and one that waited are as any other.
func TestRenewWithContextOfOthers(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		client := d.client(WithTTL(30*time.Second), WithContextRenewal())
		ctx, end := context.WithCancel(background)
		var locks []*Lock
		for _, lock := range []func() (*Lock, error){
			func() (*Lock, error) { return client.Lock(ctx, "slots", WithSlots(1)) },
			func() (*Lock, error) { return client.RLock(ctx, "read") },
			func() (*Lock, error) {
				first := mustTry(t, d.client(), "waited", WithoutWatchdog(), WithTTL(time.Second))
				lock, err := client.Lock(ctx, "waited")
				requireErr(t, first.Unlock(background), ErrExpired)
				return lock, err
			},
			func() (*Lock, error) { // handed over
				first := mustTry(t, client, "handed")
				time.AfterFunc(time.Second, func() { _ = first.Unlock(background) })
				return client.Lock(ctx, "handed")
			},
		} {
			one, err := lock()
			must(t, err)
			locks = append(locks, one)
		}
		time.Sleep(time.Hour)
		for _, lock := range locks {
			if !lock.Valid() {
				t.Errorf("%v was not renewed", lock)
			}
		}
		end()
		time.Sleep(30 * time.Second)
		for _, lock := range locks {
			requireErr(t, lock.Unlock(background), ErrExpired)
		}
	})
}

// Two entries of one hold are renewed until their contexts end. The context of the first one ends, then
// that of the second one: nobody asks for renewals any more.
func TestRenewalEndsWithTheContextsOfAllEntries(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(WithTTL(time.Second))
		one, endOne := context.WithCancel(background)
		lock, err := c.TryLock(one, "job", WithContextRenewal())
		must(t, err)
		two, endTwo := context.WithCancel(context.WithoutCancel(lock.Context()))
		again, err := c.TryLock(two, "job", WithContextRenewal())
		must(t, err)
		endOne()
		time.Sleep(3 * time.Second)
		if !again.Valid() {
			t.Error("it is not renewed for the second one")
		}
		endTwo()
		time.Sleep(3 * time.Second)
		if again.Valid() {
			t.Error("it is renewed for nobody")
		}
	})
}
