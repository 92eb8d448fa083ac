package acquire

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// waiter is one call of Lock in the queue of its name.
type waiter = waitqueue.Waiter[Options, attempt]

// wait waits in the queue for name, within a limit. The waiter leaves the queue in any case, even if an observer
// does not return: otherwise the waiters behind this waiter would wait for ever.
func (c *Client) wait(ctx context.Context, name string, o Options, within waitLimit) (entry *lease.Entry, err error) {
	var ticket waitqueue.Ticket
	switch {
	case o.set != nil:
		ticket = o.set.ticket
	case o.Reads:
		// Readers of one client acquire together if no writer came between them. Each reader gets a ticket
		// when it arrives. When the first reader gets the lock, all readers behind it ask immediately.
		ticket = c.tickets.Next(c.Now())
	}
	w := c.queues.Join(name, o, o.Reads, ticket)
	defer func() { c.stopWaiting(name, w, entry) }()
	call := waitingCall{Client: c, name: name, w: w, ticket: ticket, within: within}
	if within.wait != Forever {
		timer := time.NewTimer(within.left())
		defer timer.Stop()
		call.timeout = timer.C
	}
	entry, err = call.untilLocked(ctx)
	if o.set != nil && err == nil && w.Ticket.Known() {
		o.set.ticket = w.Ticket
	}
	return entry, err
}

// waitingCall is a call of Lock that waits.
type waitingCall struct {
	*Client
	name    string
	w       *waiter
	ticket  waitqueue.Ticket // of the call's arrival; w may inherit another ticket
	within  waitLimit
	timeout <-chan time.Time // fires at the end of the wait; nil: no end
	last    error            // of the last attempt that had a result; nil: none had
	holder  chan holder      // receives the lock's holder, once it is known; nil: no master was asked yet
}

// untilLocked makes one step after the other, until the call has the lock or fails.
func (c *waitingCall) untilLocked(ctx context.Context) (*lease.Entry, error) {
	for {
		switch step := c.queues.Step(c.w, c.Now(), c.notices); step.Action {
		case waitqueue.Sleep:
			if err := c.sleep(ctx, step); err != nil {
				return nil, ask.Left(err, c.reason())
			}
		case waitqueue.FindHolder:
			c.askHolder()
		default:
			if entry, err := c.ask(ctx, step); entry != nil || err != nil {
				return entry, err
			}
		}
	}
}

// sleep waits until the call may have to act. It returns an error when the wait, the context or the
// client has ended.
func (c *waitingCall) sleep(ctx context.Context, step waitqueue.Step[attempt]) error {
	var due <-chan time.Time
	if step.Until != 0 {
		timer := c.Timer(step.Until.Sub(c.Now()))
		defer c.PutTimer(timer)
		due = timer.C
	}
	select {
	case <-c.queues.Woken(c.w):
	case <-step.Reach:
	case <-due:
	case <-c.timeout:
		return &waitedError{c.within.wait}
	case <-ctx.Done():
	case <-c.Closed.Done():
	}
	return c.Ended(ctx)
}

// ask makes an attempt, or concludes the attempt that was handed over. It returns the entry, or the
// error that ends the call. It returns neither if the call must go on waiting.
func (c *waitingCall) ask(ctx context.Context, step waitqueue.Step[attempt]) (entry *lease.Entry, err error) {
	again := false
	if step.Action == waitqueue.AskAlong {
		entry, err = c.once(ctx, c.name, c.w.Want, lease.Place{Ticket: c.ticket})
	} else {
		entry, again, err = c.tryFor(ctx, c.name, c.w, step.Handed)
	}
	if err == nil || errors.Is(err, ErrBadOption) {
		return entry, err
	}
	if !c.notices.Reach().Quorum {
		err = printable.Join(err, c.Uncalled())
	}
	if hasResult(err) {
		c.last = err
	}
	if c.Ended(ctx) == nil {
		switch {
		case again:
			return nil, nil
		case c.w.Want.needsSetup(err):
			return nil, printable.Join(err, ErrNeedsSetup)
		}
		c.failed(step)
	}
	switch why := c.within.over(ctx); {
	case why == nil:
		return nil, nil
	case c.last == nil: // the masters have decided nothing yet
		return nil, leftWith(ctx, why, err)
	default:
		return nil, leftWith(ctx, why, c.reason())
	}
}

// failed records a failed attempt, with the time of the next attempt.
func (c *waitingCall) failed(step waitqueue.Step[attempt]) {
	f := waitqueue.Failure{Err: c.last}
	if step.Action != waitqueue.AskAlong {
		reached := c.notices.Listen(&c.w.Listener)
		f.Calls, f.Need = step.Calls, reached.Calls
		now, pause := c.Now(), c.pauseAfter(c.w, c.last, reached)
		f.AskAt = now.Add(pause)
		if c.holder == nil && pause > holderAfter && errors.Is(c.last, ask.ErrHeld) {
			f.FindAt = now.Add(holderAfter)
		}
	}
	c.queues.Failed(c.w, f)
}

// tryFor makes one attempt, or concludes an earlier attempt: the attempt that was handed over, or the
// queued attempt that has won by grants of releases. It also reports whether the waiter should ask again at
// once, because the members have changed, or because the waiter has got a new ticket.
func (c *Client) tryFor(ctx context.Context, name string, w *waiter, handed *attempt) (entry *lease.Entry, again bool, err error) {
	a := handed
	if last := w.Last; a == nil && last != nil && last.queued && last.asker == w && last.asked.Won() {
		a, w.Last = last, nil
		a.resume()
		entry, err = c.conclude(ctx, a)
		if err != nil {
			w.Last = a
		}
		return entry, false, err
	}
	if a == nil {
		if err := c.suit(ctx, ask.OpAcquire, name, &w.Want); err != nil {
			return nil, false, err
		}
		a = c.prepare(c.Members.View(), name, w.Want, c.placeFor(w.Ticket))
		c.offers.add(a)
		send := func() {
			abandonLast(w, a.in)
			a.h.Send(&a.asked, a.call)
		}
		if w.Last != nil && w.Last.queued {
			c.Gather(send) // one round trip for both
		} else {
			send()
		}
	} else {
		abandonLast(w, a.in)
	}
	a.asker = w
	if w.Began, w.Asked = a.start, a.in.Waits(); w.Asked {
		w.EverAsked, w.Ticket, w.Reads = true, a.in.Ticket, w.Want.Reads
	}
	entry, err = c.conclude(ctx, a)
	if err == nil {
		w.Last = nil
		return entry, false, nil
	}
	w.Last = a
	if w.EverAsked && (!w.Ticket.Known() || gotTime(err)) {
		if next := c.tickets.Next(c.Now()); next.Before(w.Ticket) {
			w.Ticket = next
			return nil, true, err
		}
	}
	return nil, c.NewerView(ctx, err, a.asked.View, a.deadline) != nil, err
}

// gotTime reports whether a master replied its time when it refused an attempt.
func gotTime(err error) bool {
	f, _ := errors.AsType[*ask.Failure](err)
	return f != nil && slices.ContainsFunc(f.Votes, func(v script.Vote) bool { return v.Ticket != 0 })
}

// abandonLast drops the unsent requests of w's last attempt. If that attempt is queued, abandonLast
// also undoes its grants (drop).
func abandonLast(w *waiter, in lease.Place) {
	if w.Last == nil {
		return
	}
	w.Last.drop(in)
	w.Last.asked.Abandon()
}
