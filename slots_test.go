package redlock

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/limits"
)

func slotsAdmitSoMany(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	taken := map[int]*Lock{}
	for range 3 {
		lock := mustTry(t, a, "jobs", WithSlots(3))
		if want := fmt.Sprint("jobs~slot", lock.Slot()); taken[lock.Slot()] != nil || lock.Name() != want {
			t.Errorf("got slot %d once more, or it is not %q: %v", lock.Slot(), lock.Name(), lock)
		}
		taken[lock.Slot()] = lock
	}
	_, err := b.TryLock(background, "jobs", WithSlots(3))
	requireErr(t, err, ErrNotAcquired, ErrHeld)
	_, err = b.Lock(background, "jobs", WithSlots(3), WithWait(d.either(50*time.Millisecond, 300*time.Millisecond)))
	requireErr(t, err, ErrNotAcquired, ErrHeld, context.DeadlineExceeded)

	_, err = b.Lock(taken[2].Context(), "jobs", WithSlots(3), WithWait(0))
	requireErr(t, err, ErrHeld) // it is another client's
	inner, err := a.Lock(taken[2].Context(), "jobs", WithSlots(3))
	must(t, err)
	if inner.Slot() != 2 || inner.Token() != taken[2].Token() {
		t.Errorf("re-entered %v", inner)
	}
	must(t, inner.Unlock(background))

	plain := mustTry(t, b, "jobs")
	if plain.Slot() != 0 {
		t.Errorf("without slots it has slot %d", plain.Slot())
	}
	must(t, plain.Unlock(background))
	before := taken[1].Token()
	must(t, taken[1].Unlock(background))
	again := mustTry(t, b, "jobs", WithSlots(3))
	if again.Slot() != 1 || again.Token() <= before {
		t.Errorf("slot %d with token %v after %v", again.Slot(), again.Token(), before)
	}
	must(t, again.Unlock(background))
	must(t, taken[2].Unlock(background))
	must(t, taken[3].Unlock(background))
}

// Who waits hears of whichever slot is free.
func anySlotEndsTheWait(t *testing.T, d *deployment) {
	a, b := d.reached(), d.reached()
	for slot := 1; slot <= 2; slot++ {
		var held [3]*Lock
		for range 2 {
			lock := mustTry(t, a, "jobs", WithSlots(2))
			held[lock.Slot()] = lock
		}
		got := goLock(t, b, "jobs", WithSlots(2))
		d.inLine("jobs~slot1", 1)
		d.inLine("jobs~slot2", 1)
		start := time.Now()
		must(t, held[slot].Unlock(background))
		lock := have(t, got)
		if took := time.Since(start); lock.Slot() != slot || took > d.either(50*time.Millisecond, 3*time.Second) {
			t.Errorf("got slot %d after %v, want %d", lock.Slot(), took, slot)
		}
		must(t, held[3-slot].Unlock(background))
		must(t, lock.Unlock(background))
		d.inLine("jobs~slot1", 0)
		d.inLine("jobs~slot2", 0)
		requireHolders(t, d, strings.Repeat("0", len(d.masters)), "jobs~slot1", "jobs~slot2")
	}
}

// All that wait are served, and never more at a time than there are slots.
func slotsServeAll(t *testing.T, d *deployment) {
	const clients, turns, slots = 6, 8, 2
	var mu sync.Mutex
	inside, most := 0, 0
	var longest time.Duration
	var done sync.WaitGroup
	for range clients {
		c := d.reached()
		done.Go(func() {
			for range turns {
				began := time.Now()
				lock, err := c.Lock(background, "jobs", WithSlots(slots), WithWait(30*time.Second))
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
				check(t, lock.Unlock(background))
			}
		})
	}
	done.Wait()
	if most > slots {
		t.Errorf("%d were inside", most)
	}
	// Each of the others is before it in each line once; one that comes for a call takes 250 ms at most.
	if d.virtual && longest > clients*250*time.Millisecond {
		t.Errorf("one waited for %v", longest)
	}
	t.Logf("the longest wait was %v", longest)
}

// Where callers do not agree on how many slots there are, as many hold as the largest number says, and those with a
// smaller one choose from fewer.
func slotsOfCallersThatDisagree(t *testing.T, d *deployment) {
	a, b, w := d.reached(), d.reached(), d.reached()
	few, many := WithSlots(2), WithSlots(4)
	taken := map[int]*Lock{}
	for range 2 {
		lock := mustTry(t, a, "jobs", few)
		taken[lock.Slot()] = lock
	}
	for range 2 {
		lock := mustTry(t, b, "jobs", many)
		taken[lock.Slot()] = lock
	}
	for slot := 1; slot <= 4; slot++ {
		if taken[slot] == nil {
			t.Fatalf("slot %d is not taken: %v", slot, taken)
		}
	}
	for _, k := range []LockOption{few, many} {
		_, err := b.TryLock(background, "jobs", k)
		requireErr(t, err, ErrHeld)
	}
	inner, err := b.TryLock(taken[4].Context(), "jobs", few)
	must(t, err)
	if inner.Slot() != 4 {
		t.Errorf("the context carries slot 4, and slot %d was re-entered", inner.Slot())
	}
	must(t, inner.Unlock(background))

	waiting := goLock(t, w, "jobs", few)
	d.inLine("jobs~slot1", 1)
	d.inLine("jobs~slot2", 1)
	for _, slot := range []int{3, 4} {
		d.inLine(slotName("jobs", slot), 0)
		must(t, taken[slot].Unlock(background))
	}
	_, err = b.TryLock(background, "jobs", few)
	requireErr(t, err, ErrHeld)
	must(t, mustTry(t, b, "jobs", many).Unlock(background))
	select {
	case lock := <-waiting:
		t.Errorf("of two slots it has slot %d", lock.Slot())
		must(t, lock.Unlock(background))
	case <-time.After(50 * time.Millisecond):
	}
	must(t, taken[1].Unlock(background))
	select {
	case lock := <-waiting:
		if lock.Slot() != 1 {
			t.Errorf("it has slot %d, and slot 1 became free", lock.Slot())
		}
		must(t, lock.Unlock(background))
	case <-time.After(patience):
		t.Fatal("slot 1 is free, and was not taken")
	}
	must(t, taken[2].Unlock(background))
}

func TestSlotsRefuse(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 1, func(t *testing.T, d *deployment) {
		c := d.client()
		for _, k := range []int{-1, 0, limits.MaxSlots + 1} {
			_, err := c.TryLock(background, "jobs", WithSlots(k))
			requireOptionError(t, err, "slots")
		}
		_, err := c.TryLock(background, strings.Repeat("x", limits.MaxNameLen-len("~slot64")+1), WithSlots(2))
		requireOptionError(t, err, "name")
		for _, name := range []string{"jobs~slot1", "jobs~slot9", "jobs~slot10", "jobs~slot64", "~slot1~slot2"} {
			_, err = c.Lock(background, name)
			requireOptionError(t, err, "name")
		}
		for _, name := range []string{"~slot1", "jobs~slot", "jobs~slot0", "jobs~slot01", "jobs~slot65", "jobs~slot1~", "slot1"} {
			must(t, mustTry(t, c, name).Unlock(background))
		}
		must(t, mustTry(t, c, strings.Repeat("x", limits.MaxNameLen)).Unlock(background))
		lock := mustTry(t, c, strings.Repeat("x", limits.MaxNameLen-len("~slot64")), WithSlots(limits.MaxSlots))
		if verdict, err := c.Verify(background, lock.Name(), lock.Token()); err != nil || verdict != VerifyValid {
			t.Errorf("%v, %v", verdict, err)
		}
		must(t, lock.Unlock(background))
	})
}

// Each slot is entered again by whoever has its context, also the last of all.
func TestEachSlotIsEnteredAgain(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 1, func(t *testing.T, d *deployment) {
		c := d.reached()
		var all []*Lock
		for range limits.MaxSlots {
			all = append(all, mustTry(t, c, "jobs", WithSlots(limits.MaxSlots)))
		}
		for _, lock := range all {
			inner, err := c.TryLock(lock.Context(), "jobs", WithSlots(limits.MaxSlots))
			must(t, err)
			if inner.Slot() != lock.Slot() || inner.Token() != lock.Token() {
				t.Errorf("under slot %d it has slot %d", lock.Slot(), inner.Slot())
			}
			must(t, inner.Unlock(background))
		}
		unlockAll(t, all...)
	})
}
