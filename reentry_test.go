package redlock

import (
	"context"
	"testing"
	"time"

	"github.com/redlock-go/redlock/fence"
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

// An Unlock has counted the last entry, and not ended the hold yet: a re-entry at
// that moment would ask for depth 1, which is a fresh acquisition.
func TestReEntryBesideTheLastUnlock(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job")
		lock.h.mu.Lock()
		lock.h.depth--
		lock.h.mu.Unlock()
		_, err := c.TryLock(lock.Context(), "job")
		requireErr(t, err, ErrNotAcquired, ErrReleased)
		lock.h.mu.Lock()
		lock.h.depth++
		lock.h.mu.Unlock()
		must(t, lock.Unlock(background))
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
