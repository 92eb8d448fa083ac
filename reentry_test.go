package redlock

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/limits"
)

// The masters keep the longer ttl, so what is expected of them is the longer one
// too: an extend after a re-entry with a short ttl finds no clock that jumped.
func TestShortReEntriesDisturbNoRenewal(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		jumps := 0
		c := d.reached(WithObserver(Observer{ClockJumped: func(context.Context, ClockJump) { jumps++ }}))
		outer := mustTry(t, c, "job", WithTTL(30*time.Second))
		for range 60 {
			time.Sleep(2 * time.Second)
			inner, err := c.TryLock(outer.Context(), "job", WithTTL(time.Second))
			must(t, err)
			must(t, inner.Unlock(background))
		}
		must(t, outer.Extend(background, 30*time.Second))
		must(t, outer.Unlock(background))
		if jumps > 0 {
			t.Errorf("%d clocks are said to have jumped", jumps)
		}
	})
}

// A re-entry that is not answered may have been done all the same.
func TestUnansweredReEntryIsNoJump(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		jumps := 0
		c := d.reached(WithObserver(Observer{ClockJumped: func(context.Context, ClockJump) { jumps++ }}))
		outer := mustTry(t, c, "job", WithTTL(10*time.Second), WithoutWatchdog())
		d.masters[0].freeze()
		inner, err := c.TryLock(outer.Context(), "job", WithTTL(30*time.Second))
		must(t, err)
		time.Sleep(2 * d.request())
		d.masters[0].thaw()
		eventually(t, "reached again", func() bool { return allUp(c) })
		must(t, outer.Extend(background, 30*time.Second))
		time.Sleep(time.Second)
		must(t, inner.Unlock(background))
		must(t, outer.Unlock(background))
		if jumps > 0 {
			t.Errorf("%d clocks are said to have jumped", jumps)
		}
	})
}

func TestReEnteredContextCarriesItsOwnToken(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		other := mustTry(t, c, "other")
		must(t, other.Unlock(background)) // its bucket is ahead of the first one's
		x := mustTry(t, c, "x")
		y, err := c.TryLock(x.Context(), "other")
		must(t, err)
		again, err := c.TryLock(y.Context(), "x")
		must(t, err)
		if token, ok := fence.FromContext(again.Context()); !ok || token != x.Token() || again.Token() != x.Token() {
			t.Errorf("the context carries %v, %v; the lock's token is %v, and that of the lock between %v", token, ok, again.Token(), y.Token())
		}
		for _, l := range []*Lock{again, y, x} {
			must(t, l.Unlock(background))
		}
	})
}

func TestReEntryKeepsToMaxTTL(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(WithMaxTTL(time.Minute))
		outer := mustTry(t, c, "job", WithTTL(10*time.Second), WithLockDelay(40*time.Second))
		_, err := c.TryLock(outer.Context(), "job", WithTTL(31*time.Second), WithLockDelay(0))
		requireErr(t, err, ErrBadOption)
		inner, err := c.TryLock(outer.Context(), "job") // the default would be too long
		must(t, err)
		must(t, inner.Unlock(background))
		must(t, outer.Unlock(background))
	})
}

// Whoever of both said so, nothing is entered again, and nobody is asked.
func TestWithoutReentry(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.client()
		refused := func(what string, ctx context.Context, name string, opts ...LockOption) {
			t.Helper()
			start := time.Now()
			_, err := c.Lock(ctx, name, opts...)
			requireErr(t, err, ErrNotAcquired, ErrReentry)
			_, err = c.TryLock(ctx, name, opts...)
			requireErr(t, err, ErrNotAcquired, ErrReentry)
			if took := time.Since(start); took != 0 {
				t.Errorf("%s: it took %v", what, took)
			}
		}
		outer := mustTry(t, c, "name", WithoutReentry())
		refused("the holder does not want it", outer.Context(), "name")
		_, err := c.RLock(outer.Context(), "name")
		requireErr(t, err, ErrNotAcquired, ErrReentry)
		_, err = c.TryLock(background, "name")
		requireErr(t, err, ErrHeld)
		must(t, outer.Unlock(background))

		outer = mustTry(t, c, "name")
		refused("the callee does not want it", outer.Context(), "name", WithoutReentry())
		inner, err := c.Lock(outer.Context(), "name")
		must(t, err)
		must(t, inner.Unlock(background))
		must(t, outer.Unlock(background))
		next, err := c.Lock(context.WithoutCancel(outer.Context()), "name", WithoutReentry()) // nothing is held: it is fresh
		must(t, err)
		must(t, next.Unlock(background))

		slot, err := c.Lock(background, "slots", WithSlots(2), WithoutReentry())
		must(t, err)
		refused("a slot", slot.Context(), "slots", WithSlots(2))
		must(t, slot.Unlock(background))
		set, err := c.LockAll(background, []string{"a", "b"}, WithoutReentry())
		must(t, err)
		refused("a name of a set", set.Context(), "b")
		must(t, set.Unlock(background))
		reader, err := c.RLock(background, "read", WithoutReentry())
		must(t, err)
		_, err = c.RLock(reader.Context(), "read")
		requireErr(t, err, ErrReentry)
		must(t, reader.Unlock(background))
	})
}

// A hold outlives the context of its first caller. A re-entry whose own context lives on has a Context
// until its Unlock, until that context ends, or until the hold is over.
func TestAReEntryOutlivesTheContextOfTheFirst(t *testing.T) {
	t.Parallel()
	for what, lock := range map[string]func(c *Client, ctx context.Context) (context.Context, func(context.Context) error, error){
		"a lock": func(c *Client, ctx context.Context) (context.Context, func(context.Context) error, error) {
			l, err := c.Lock(ctx, "job")
			return l.Context(), l.Unlock, err
		},
		"a set": func(c *Client, ctx context.Context) (context.Context, func(context.Context) error, error) {
			l, err := c.LockAll(ctx, []string{"another", "job"})
			return l.Context(), l.Unlock, err
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				c := d.reached()
				request, end := context.WithCancelCause(background)
				first, unlock, err := lock(c, request)
				must(t, err)
				enter := func(within context.Context) *Lock {
					t.Helper()
					l, err := c.Lock(within, "job", WithContextRenewal())
					must(t, err)
					return l
				}
				ended := func(l *Lock, want error) {
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
				must(t, later.Unlock(background))
				ended(later, ErrReleased)
				ended(second, nil)

				d.drop(c, "job", 0, 1)
				requireErr(t, second.Extend(background, limits.DefaultTTL), ErrLost)
				for _, l := range []*Lock{second, latest} {
					if cause := context.Cause(l.Context()); cause != ErrLost {
						t.Errorf("the hold is over, and a context ended with %v", cause)
					}
				}
				for _, l := range []*Lock{second, third, within, latest} {
					requireErr(t, l.Unlock(background), ErrLost)
				}
				requireErr(t, unlock(background), ErrLost)
			})
		})
	}
}

// When one name of a set is lost, re-entries into the others end before any observer is told, which may
// take its time.
func TestReEntriesIntoASetEndTogether(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var watched []context.Context
		var late atomic.Int64
		c := d.reached(WithObserver(Observer{Ended: func(context.Context, HoldEnd) {
			for _, ctx := range watched {
				if ctx.Err() == nil {
					late.Add(1)
				}
			}
		}}))
		set, err := c.LockAll(background, []string{"a", "b", "c"})
		must(t, err)
		for _, name := range []string{"a", "b", "c"} {
			one, err := c.Lock(set.Context(), name)
			must(t, err)
			apart, err := c.Lock(context.WithoutCancel(one.Context()), name)
			must(t, err)
			watched = append(watched, one.Context(), apart.Context())
		}
		d.drop(c, "a", 0, 1)
		<-set.Context().Done()
		synctest.Wait()
		if n := late.Load(); n > 0 {
			t.Errorf("%d contexts had not ended when an observer was told", n)
		}
	})
}

// callingBack is a context of the caller's own kind, which calls the caller's code when somebody waits for its end no
// more: the package context uses its method AfterFunc. It does not end.
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

// The code of a caller's context may ask the lock, also while the hold ends.
func TestAContextThatAsksTheLock(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		var first, second *Lock
		asks := func(ctx context.Context) context.Context {
			return callingBack{ctx, make(chan struct{}), func() { _, _ = first.Valid(), second.Valid() }}
		}
		first, err := c.Lock(asks(background), "job", WithContextRenewal())
		must(t, err)
		second, err = c.Lock(asks(first.Context()), "job", WithContextRenewal())
		must(t, err)
		d.drop(c, "job", 0, 1)
		requireErr(t, second.Extend(background, limits.DefaultTTL), ErrLost)
		requireErr(t, second.Unlock(background), ErrLost)
		requireErr(t, first.Unlock(background), ErrLost)
	})
}

// A context enters the lock again that has the name, of the client that is asked, and is held; else the lock is had afresh.
func TestWhatAContextEntersAgain(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c, other := d.reached(), d.reached()
		a := mustTry(t, c, "a")
		b, err := c.TryLock(a.Context(), "b")
		must(t, err)
		if b.Name() != "b" || b.h == a.h {
			t.Fatalf("under the lock of a, it has %v for b", b)
		}
		for _, ctx := range []context.Context{a.Context(), b.Context()} {
			again, err := c.TryLock(ctx, "a")
			must(t, err)
			if again.h != a.h {
				t.Errorf("it has %v for a, want %v again", again, a)
			}
			must(t, again.Unlock(background))
			_, err = other.TryLock(ctx, "a")
			requireErr(t, err, ErrHeld)
		}
		under := context.WithoutCancel(b.Context())
		must(t, a.Unlock(background))
		fresh, err := c.TryLock(under, "a") // what was released is not entered
		must(t, err)
		if fresh.h == a.h || fresh.Token() <= a.Token() {
			t.Errorf("it has %v, after %v", fresh, a)
		}
		unlockAll(t, fresh, b)
	})
}
