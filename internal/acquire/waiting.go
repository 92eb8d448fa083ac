package acquire

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// waiter is one call of Lock in the queue of its name.
type waiter = waitqueue.Waiter[Options, attempt]

// wait waits in the queue for name. It leaves the queue in any case, also when an observer does not
// return: otherwise the waiters behind it would wait for ever.
func (c *Client) wait(ctx context.Context, name string, o Options) (entry *lease.Entry, err error) {
	var ticket waitqueue.Ticket
	switch {
	case o.set != nil:
		ticket = o.set.ticket
	case o.Reads:
		// Readers of one client go together if no writer came between them: each has the ticket of
		// its arrival. When the first is granted the name, the readers behind it ask all at once.
		ticket = c.tickets.Next(c.Now())
	}
	w := c.queues.Join(name, o, o.Reads, ticket)
	defer func() { c.stopWaiting(name, w, entry) }()
	call := waitingCall{Client: c, name: name, w: w, ticket: ticket, last: ask.ErrNotAcquired} // without a reason yet
	if o.Wait != Forever {
		timer := time.NewTimer(o.Wait)
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
	name     string
	w        *waiter
	ticket   waitqueue.Ticket // of its arrival; w may inherit another one
	timeout  <-chan time.Time // fires at the end of the wait; nil: no end
	last     error            // of the last attempt
	failures int              // failed attempts in a row
	behind   bool             // it has waited for another caller of this client
	holder   chan holder      // receives the lock's holder, once it is known; nil: not asked for yet
}

// untilLocked asks the masters whenever it is the call's turn, until it has the lock or fails.
func (c *waitingCall) untilLocked(ctx context.Context) (*lease.Entry, error) {
	for {
		calls := c.queues.Calls(c.w)
		turn := c.queues.TurnOf(c.w)
		reached, early := c.early(c.w, turn)
		switch {
		case early:
			c.last = &ask.Failure{Op: ask.OpAcquire, Name: c.name, Reason: ask.ErrHeld, Need: c.Needed()}
		case turn.Ask:
			entry, again, err := c.ask(ctx, turn)
			if entry != nil || err != nil {
				return entry, err
			}
			if again || turn.Along { // after Along, it may be the first by now
				continue
			}
			reached = c.failed(calls)
		case turn.Blocked:
			c.failures = 0
		}
		c.behind = c.behind || !turn.Ask
		if err := c.untilWoken(ctx, turn.Ask, reached); err != nil {
			return nil, ask.Left(err, c.reason())
		}
	}
}

// ask makes an attempt, or concludes the attempt that was handed over. It returns the entry, or the
// error that ends the call, or neither. Then again reports whether to ask again at once.
func (c *waitingCall) ask(ctx context.Context, turn waitqueue.Turn[attempt]) (entry *lease.Entry, again bool, err error) {
	if turn.Along {
		entry, err = c.once(ctx, c.name, c.w.Want, lease.Place{Ticket: c.ticket})
	} else {
		entry, again, err = c.tryFor(ctx, c.name, c.w, turn.Handed)
	}
	if err == nil || errors.Is(err, ErrBadOption) {
		return entry, false, err
	}
	if !c.notices.Reach().Quorum {
		err = printable.Join(err, c.Uncalled())
	}
	switch {
	case ctx.Err() != nil || c.Closed.Err() != nil:
		return nil, false, leftWith(ctx, err, c.last)
	case again:
		return nil, true, nil
	case c.w.Want.needsSetup(err):
		return nil, false, printable.Join(err, ErrNeedsSetup)
	}
	c.last = err
	c.queues.Failed(c.w, err)
	return nil, false, nil
}

// failed sets the time of the next attempt after a failed one. calls is the number of masters that
// had called the waiter before it.
func (c *waitingCall) failed(calls int) (reached waitqueue.Reach) {
	c.w.Failed(calls, c.notices.Quorum())
	reached = c.notices.Listen(&c.w.Listener)
	c.w.AskAt = c.Now().Add(c.pauseAfter(c.w, c.failures, c.last, reached))
	c.failures++
	return reached
}

// untilWoken sleeps until the call may have to act. A call that asks sleeps at most until AskAt.
func (c *waitingCall) untilWoken(ctx context.Context, asks bool, reached waitqueue.Reach) (err error) {
	if asks {
		err = c.untilItAsks(ctx, reached)
	} else {
		_, err = c.sleep(ctx, nil, nil)
	}
	if err != nil {
		return err
	}
	return c.followCalls(ctx)
}

// leftWith returns the error of a waiter that left during an attempt. failed is the error of that
// attempt, before the error of the attempt before it.
func leftWith(ctx context.Context, failed, before error) error {
	q, _ := errors.AsType[*ask.Failure](failed)
	switch {
	case q != nil && q.Undecided && before != ask.ErrNotAcquired: // the masters had decided the attempt before
		return ask.Left(q.Reason, before)
	case q != nil && q.Undecided, ctx.Err() == nil, errors.Is(failed, context.Cause(ctx)):
		return failed
	}
	return ask.Left(printable.ContextError(ctx), failed)
}

// early reports whether w, whose turn it is, need not ask yet: it has inherited its place from
// a waiter that has asked, and misses no call with the returned reach.
func (c *Client) early(w *waiter, turn waitqueue.Turn[attempt]) (reached waitqueue.Reach, early bool) {
	if !turn.Ask || !turn.Inherited || turn.Handed != nil || w.Reads != w.Want.Reads {
		return waitqueue.Reach{}, false
	}
	reached = c.notices.Listen(&w.Listener)
	return reached, w.Covered(reached) && c.Now().Before(w.AskAt)
}

// untilItAsks sleeps until the waiter is woken, but at most until AskAt. If subscriptions break or
// come back meanwhile, so that a call may have been lost, it moves AskAt forward.
func (c *waitingCall) untilItAsks(ctx context.Context, reached waitqueue.Reach) error {
	changed := reached.Changed()
	for {
		pause := c.w.AskAt.Sub(c.Now())
		asks := c.holder == nil && pause > holderAfter && errors.Is(c.last, ask.ErrHeld)
		if asks {
			pause = holderAfter
		}
		slept := c.Now()
		didChange, err := c.sleepFor(ctx, pause, changed)
		if err == nil && asks && c.Now().Sub(slept) >= pause {
			c.askHolder()
			continue
		}
		if err != nil || !didChange {
			return err
		}
		reached = c.notices.Reach()
		changed = reached.Changed()
		if !c.w.Covered(reached) {
			c.w.AskAt = min(c.w.AskAt, c.Now().Add(c.soon()))
			changed = nil
		}
	}
}

// followCalls pauses a called waiter until enough masters have called, or CallPause is over.
func (c *waitingCall) followCalls(ctx context.Context) error {
	for since := c.Now(); ; {
		pause := c.w.CallPause(c.queues.Calls(c.w), c.notices.Quorum()) - c.Now().Sub(since)
		if pause <= 0 {
			return nil
		}
		if _, err := c.sleepFor(ctx, pause, nil); err != nil {
			return err
		}
	}
}

// sleep waits until the waiter is woken, due fires, or changed is closed. It returns an error when
// the wait, the context or the client has ended.
func (c *waitingCall) sleep(ctx context.Context, due <-chan time.Time, changed <-chan struct{}) (didChange bool, err error) {
	select {
	case <-c.queues.Woken(c.w):
	case <-due:
	case <-changed:
		return true, nil
	case <-c.timeout:
		return false, c.w.Want.waited()
	case <-ctx.Done():
		return false, printable.ContextError(ctx)
	case <-c.Closed.Done():
		return false, master.ErrClosed
	}
	return false, nil
}

// sleepFor sleeps as sleep does, for at most pause.
func (c *waitingCall) sleepFor(ctx context.Context, pause time.Duration, changed <-chan struct{}) (didChange bool, err error) {
	timer := c.Timer(pause)
	defer c.PutTimer(timer)
	return c.sleep(ctx, timer.C, changed)
}

// tryFor makes one attempt, or concludes the attempt that was handed over. again reports that the
// waiter should ask again at once: the members have changed, or it has its ticket now.
func (c *Client) tryFor(ctx context.Context, name string, w *waiter, handed *attempt) (entry *lease.Entry, again bool, err error) {
	w.AskAt = 0 // a waiter that inherits the place during the attempt has to ask
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
	if w.EverAsked && !w.Ticket.Known() {
		w.Ticket = c.tickets.Next(c.Now())
		if w.Ticket.Known() {
			return nil, true, err
		}
	}
	return nil, c.NewerView(ctx, err, a.asked.View, a.deadline) != nil, err
}

// abandonLast drops the unsent requests of w's last attempt, and undoes its grants if it is queued.
// in is the waiter's place from then on.
func abandonLast(w *waiter, in lease.Place) {
	if w.Last == nil {
		return
	}
	w.Last.drop(in)
	w.Last.asked.Abandon()
}
