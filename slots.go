package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/redlock-go/redlock/internal/limits"
)

// slotMark stands in the name of a slot, between the name that has slots and the
// number. No other name may end so.
const slotMark = "~slot"

// WithSlots lets k callers hold the name at a time, 1 to 64. There are k locks,
// named "<name>~slot1" to "<name>~slot<k>". Lock, TryLock and Do take a free one;
// Lock.Slot tells which. The token is that slot's: tokens of different slots say nothing
// about each other, so a store has to guard each slot as a resource of its own, by
// Lock.Name. Such names cannot be locked directly.
//
// Lock waits in line for all slots at once when none is free, and takes the first that is.
// TryLock asks for one slot after the other, and may take k times as long as without slots.
// With a ctx that carries the lock of one of the slots it re-enters that one.
//
// All callers must agree on k. Nothing checks that: if they do not agree, as many callers
// can hold the name as the largest k allows. A name with WithSlots and the same name
// without it are two different locks.
func WithSlots(k int) LockOption {
	return lockOption(func(l *lockConfig) { l.slots, l.slotsGiven = k, true })
}

// Slot returns which slot of its name the lock is, from 1; 0 if it was taken without
// WithSlots.
func (l *Lock) Slot() int {
	_, slot := slotOf(l.Name())
	return slot
}

func slotName(name string, slot int) string { return name + slotMark + strconv.Itoa(slot) }

// slotOf takes the name of a slot apart; slot is 0 if it is none.
func slotOf(name string) (of string, slot int) {
	i := strings.LastIndex(name, slotMark)
	if i < 0 {
		return name, 0
	}
	of, number := name[:i], name[i+len(slotMark):]
	slot, err := strconv.Atoi(number)
	if err != nil || slot < 1 || slot > limits.MaxSlots || strconv.Itoa(slot) != number || of == "" {
		return name, 0
	}
	return of, slot
}

// lockSlot re-enters the slot of name that ctx carries, or else takes a free one, or waits
// for one.
func (c *Client) lockSlot(ctx context.Context, name string, cfg lockConfig, mayWait bool) (*Lock, error) {
	k := cfg.slots
	for slot := range limits.MaxSlots {
		if h := c.holds.FromContext(ctx, slotName(name, slot+1)); h != nil {
			return c.reenter(ctx, h, cfg)
		}
	}
	var lock *Lock
	var err error
	// Begin at a random slot: otherwise all callers that come at once would ask for
	// the same one.
	for first, i := rand.IntN(k), 0; i < k; i++ {
		lock, err = c.once(ctx, slotName(name, (first+i)%k+1), cfg)
		if !errors.Is(err, ErrHeld) || ctx.Err() != nil {
			break
		}
	}
	if err == nil || !mayWait || ctx.Err() != nil || errors.Is(err, ErrBadOption) {
		return lock, err
	}
	return c.waitForSlot(ctx, name, cfg)
}

// waitForSlot waits in line for all slots, and takes the first that it is granted. One
// that waited for a single slot would not hear of the others.
func (c *Client) waitForSlot(ctx context.Context, name string, cfg lockConfig) (*Lock, error) {
	type result struct {
		slot int
		lock *Lock
		err  error
	}
	results := make(chan result, cfg.slots)
	leave := make([]context.CancelFunc, cfg.slots)
	for slot := range cfg.slots {
		waiting, cancel := context.WithCancel(ctx)
		leave[slot] = cancel
		go func() {
			r := result{slot: slot, err: ErrNotAcquired} // if an observer ends this goroutine
			defer func() { results <- r }()
			r.lock, r.err = c.wait(waiting, slotName(name, slot+1), cfg)
		}()
	}
	var taken *Lock
	var failed error
	for range cfg.slots {
		r := <-results
		switch {
		case r.err != nil:
			leave[r.slot]()
			if failed == nil {
				failed = r.err
			}
		case taken != nil:
			r.lock.giveBack() // another was faster
			leave[r.slot]()
		default:
			taken = r.lock
			for other, leave := range leave {
				if other != r.slot {
					leave()
				}
			}
			context.AfterFunc(taken.Context(), leave[r.slot])
		}
	}
	if taken == nil {
		return nil, failed
	}
	return taken, nil
}
