package acquire

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
)

// slotMark separates the name and the number in the name of a slot's lock. No other name is allowed
// to end in slotMark and a number.
const slotMark = "~slot"

// SlotName returns the name of a slot's lock. Slots are counted from 1.
func SlotName(name string, slot int) string { return name + slotMark + strconv.Itoa(slot) }

// SlotOf splits the name of a slot's lock into name and number. For any other name, the number is 0.
func SlotOf(name string) (of string, slot int) {
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

// lockSlot re-enters the slot of name that ctx carries. If ctx carries none, it takes or waits for a free slot.
func (c *Client) lockSlot(ctx context.Context, name string, o Options) (*lease.Entry, error) {
	k := o.Slots
	for slot := range limits.MaxSlots {
		if h := c.Holds.FromContext(ctx, SlotName(name, slot+1)); h != nil {
			return c.reenter(ctx, h, o)
		}
	}
	within := c.limit(o.Wait)
	var last, err error
	// Begin at a random slot: otherwise all callers that come at once would ask for the same slot.
	for first, i := rand.IntN(k), 0; i < k; i++ {
		var entry *lease.Entry
		if entry, err = c.once(ctx, SlotName(name, (first+i)%k+1), o, nowhere); err == nil {
			return entry, nil
		}
		if last = lastResult(err, last); o.Wait > 0 {
			if ends := within.ends(ctx, &o, last); ends != nil {
				return nil, ends
			}
		}
		if !errors.Is(err, ask.ErrHeld) || ctx.Err() != nil {
			break
		}
	}
	if o.Wait == 0 {
		return nil, err
	}
	entry, err := c.waitForSlot(ctx, name, o, within)
	if err != nil && !hasResult(err) {
		err = leftWith(ctx, within.over(ctx), last)
	}
	return entry, err
}

// waitForSlot waits in line for all slots, and takes the first slot that it is granted. A waiter for
// a single slot would get no notice when another slot is free.
func (c *Client) waitForSlot(ctx context.Context, name string, o Options, within waitLimit) (*lease.Entry, error) {
	type result struct {
		slot  int
		entry *lease.Entry
		err   error
	}
	results := make(chan result, o.Slots)
	leave := make([]context.CancelFunc, o.Slots)
	for slot := range o.Slots {
		waiting, cancel := context.WithCancel(ctx)
		leave[slot] = cancel
		go func() {
			r := result{slot: slot, err: ask.ErrNotAcquired} // the result if an observer ends this goroutine
			defer func() { results <- r }()
			r.entry, r.err = c.wait(waiting, SlotName(name, slot+1), o, within)
		}()
	}
	var taken *lease.Entry
	var failed error
	for range o.Slots {
		r := <-results
		switch {
		case r.err != nil:
			leave[r.slot]()
			failed = lastResult(failed, r.err)
		case taken != nil:
			r.entry.Discard() // another slot was faster
			leave[r.slot]()
		default:
			taken = r.entry
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
