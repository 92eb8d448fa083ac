package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
)

func slotsLimitHolders(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Reached()
	taken := map[int]*redlock.Lock{}
	for range 3 {
		lock := harness.MustTry(t, a, "jobs", redlock.WithSlots(3))
		if want := fmt.Sprint("jobs~slot", lock.Slot()); taken[lock.Slot()] != nil || lock.Name() != want {
			t.Errorf("got slot %d once more, or it is not %q: %v", lock.Slot(), lock.Name(), lock)
		}
		taken[lock.Slot()] = lock
	}
	harness.RequireErr(t, harness.ErrOf(b.TryLock(context.Background(), "jobs", redlock.WithSlots(3))), redlock.ErrNotAcquired, redlock.ErrHeld)
	_, err := b.Lock(context.Background(), "jobs", redlock.WithSlots(3), redlock.WithWait(d.Either(50*time.Millisecond, 300*time.Millisecond)))
	harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrHeld, context.DeadlineExceeded)

	_, err = b.Lock(taken[2].Context(), "jobs", redlock.WithSlots(3), redlock.WithWait(0))
	harness.RequireErr(t, err, redlock.ErrHeld) // the slot is another client's
	inner, err := a.Lock(taken[2].Context(), "jobs", redlock.WithSlots(3))
	harness.Must(t, err)
	if inner.Slot() != 2 || inner.Token() != taken[2].Token() {
		t.Errorf("re-entered %v", inner)
	}
	harness.Must(t, inner.Unlock(context.Background()))

	plain := harness.MustTry(t, b, "jobs")
	if plain.Slot() != 0 {
		t.Errorf("without slots it has slot %d", plain.Slot())
	}
	harness.Must(t, plain.Unlock(context.Background()))
	before := taken[1].Token()
	harness.Must(t, taken[1].Unlock(context.Background()))
	second := harness.MustTry(t, b, "jobs", redlock.WithSlots(3))
	if second.Slot() != 1 || second.Token() <= before {
		t.Errorf("slot %d with token %v after %v", second.Slot(), second.Token(), before)
	}
	harness.Must(t, second.Unlock(context.Background()))
	harness.Must(t, taken[2].Unlock(context.Background()))
	harness.Must(t, taken[3].Unlock(context.Background()))
}

// A waiter is called for whichever slot is free.
func anySlotEndsWait(t *testing.T, d *harness.Deployment) {
	a, b := d.Reached(), d.Reached()
	for slot := 1; slot <= 2; slot++ {
		var held [3]*redlock.Lock
		for range 2 {
			lock := harness.MustTry(t, a, "jobs", redlock.WithSlots(2))
			held[lock.Slot()] = lock
		}
		got := harness.GoLock(t, b, "jobs", redlock.WithSlots(2))
		d.InLine("jobs~slot1", 1)
		d.InLine("jobs~slot2", 1)
		start := time.Now()
		harness.Must(t, held[slot].Unlock(context.Background()))
		lock := harness.Have(t, got)
		if took := time.Since(start); lock.Slot() != slot || took > d.Either(50*time.Millisecond, 3*time.Second) {
			t.Errorf("got slot %d after %v, want %d", lock.Slot(), took, slot)
		}
		harness.Must(t, held[3-slot].Unlock(context.Background()))
		harness.Must(t, lock.Unlock(context.Background()))
		d.InLine("jobs~slot1", 0)
		d.InLine("jobs~slot2", 0)
		harness.RequireHolders(t, d, strings.Repeat("0", len(d.Masters)), "jobs~slot1", "jobs~slot2")
	}
}

// All waiters are served, and never more at a time than there are slots.
func slotsServeAll(t *testing.T, d *harness.Deployment) {
	const clients, turns, slots = 6, 8, 2
	var mu sync.Mutex
	inside, most := 0, 0
	var longest time.Duration
	var done sync.WaitGroup
	for range clients {
		c := d.Reached()
		done.Go(func() {
			for range turns {
				began := time.Now()
				lock, err := c.Lock(context.Background(), "jobs", redlock.WithSlots(slots), redlock.WithWait(30*time.Second))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				inside++
				most, longest = max(most, inside), max(longest, time.Since(began))
				mu.Unlock()
				time.Sleep(2 * time.Millisecond)
				mu.Lock()
				inside--
				mu.Unlock()
				harness.Check(t, lock.Unlock(context.Background()))
			}
		})
	}
	done.Wait()
	if most > slots {
		t.Errorf("%d were inside", most)
	}
	// Each other waiter goes before a waiter at most once, and a waiter that is called takes at most 250 ms.
	if d.Virtual && longest > clients*250*time.Millisecond {
		t.Errorf("one waited for %v", longest)
	}
	t.Logf("the longest wait was %v", longest)
}

// If callers disagree on the number of slots, as many callers as the largest number can hold the name, and callers with
// a smaller number choose among fewer slots.
func slotsWithDifferentCounts(t *testing.T, d *harness.Deployment) {
	a, b, w := d.Reached(), d.Reached(), d.Reached()
	few, many := redlock.WithSlots(2), redlock.WithSlots(4)
	taken := map[int]*redlock.Lock{}
	for range 2 {
		lock := harness.MustTry(t, a, "jobs", few)
		taken[lock.Slot()] = lock
	}
	for range 2 {
		lock := harness.MustTry(t, b, "jobs", many)
		taken[lock.Slot()] = lock
	}
	for slot := 1; slot <= 4; slot++ {
		if taken[slot] == nil {
			t.Fatalf("slot %d is not taken: %v", slot, taken)
		}
	}
	for _, k := range []redlock.LockOption{few, many} {
		harness.RequireErr(t, harness.ErrOf(b.TryLock(context.Background(), "jobs", k)), redlock.ErrHeld)
	}
	inner, err := b.TryLock(taken[4].Context(), "jobs", few)
	harness.Must(t, err)
	if inner.Slot() != 4 {
		t.Errorf("the context carries slot 4, and slot %d was re-entered", inner.Slot())
	}
	harness.Must(t, inner.Unlock(context.Background()))

	waiting := harness.GoLock(t, w, "jobs", few)
	d.InLine("jobs~slot1", 1)
	d.InLine("jobs~slot2", 1)
	d.InLine(acquire.SlotName("jobs", 3), 0)
	harness.UnlockAll(t, taken[3], taken[4])
	harness.RequireErr(t, harness.ErrOf(b.TryLock(context.Background(), "jobs", few)), redlock.ErrHeld)
	harness.Must(t, harness.MustTry(t, b, "jobs", many).Unlock(context.Background()))
	harness.Must(t, taken[1].Unlock(context.Background()))
	lock := harness.Have(t, waiting)
	if lock.Slot() != 1 {
		t.Errorf("it has slot %d, and slot 1 became free", lock.Slot())
	}
	harness.UnlockAll(t, lock, taken[2])
}

func TestSlotsErrors(t *testing.T) {
	harness.InVirtualTime(t, 1, func(t *testing.T, d *harness.Deployment) {
		c := d.Client()
		for _, k := range []int{-1, 0, limits.MaxSlots + 1} {
			harness.RequireOptionError(t, harness.ErrOf(c.TryLock(context.Background(), "jobs", redlock.WithSlots(k))), "slots")
		}
		_, err := c.TryLock(context.Background(), strings.Repeat("x", limits.MaxNameLen-len("~slot64")+1), redlock.WithSlots(2))
		harness.RequireOptionError(t, err, "name")
		for _, name := range []string{"jobs~slot1", "jobs~slot9", "jobs~slot10", "jobs~slot64", "~slot1~slot2"} {
			harness.RequireOptionError(t, harness.ErrOf(c.Lock(context.Background(), name)), "name")
		}
		for _, name := range []string{"~slot1", "jobs~slot", "jobs~slot0", "jobs~slot01", "jobs~slot65", "jobs~slot1~", "slot1"} {
			harness.Must(t, harness.MustTry(t, c, name).Unlock(context.Background()))
		}
		harness.Must(t, harness.MustTry(t, c, strings.Repeat("x", limits.MaxNameLen)).Unlock(context.Background()))
		lock := harness.MustTry(t, c, strings.Repeat("x", limits.MaxNameLen-len("~slot64")), redlock.WithSlots(limits.MaxSlots))
		if verdict, err := c.Verify(context.Background(), lock.Name(), lock.Token()); err != nil || verdict != redlock.VerifyValid {
			t.Errorf("%v, %v", verdict, err)
		}
		harness.Must(t, lock.Unlock(context.Background()))
	})
}
