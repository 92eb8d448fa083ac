package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

const (
	// The pause after a failed attempt grows from minPause to maxPause. When votes
	// were split it starts much lower: nobody holds the lock then.
	minPause   = 5 * time.Millisecond
	splitPause = 500 * time.Microsecond
	maxPause   = 250 * time.Millisecond

	// A waiter that the masters call also asks by itself: at the end of the holder's
	// lease, but at most twice in askInterval, and in between once in coveredInterval.
	// That helps when somebody deleted the lock, and keeps its place in the queues. A
	// waiter that may not stand in the queues of a quorum asks once in an interval of
	// askInterval to maxAskInterval (askEvery).
	askInterval     = time.Second
	maxAskInterval  = 5 * time.Second
	coveredInterval = script.QueueTTL / 3
	askTogether     = 100 * time.Millisecond // what leaves together costs much less

	// When all waiters of a client have to ask, because subscriptions broke or came
	// back, they do so one after the other, so far apart.
	spreadEach = 200 * time.Microsecond

	// standByPause is how long a waiter gives the one before it, who was called, to
	// take the lock: longer than masters keep it.
	standByPause = 250 * time.Millisecond

	// keepFor bounds how long one client hands a name that others wait for from
	// caller to caller. Each change of client costs a notice on top.
	keepFor = 10 * time.Millisecond

	// maxGoneOn bounds how often a client that closes has masters go on with queues: past the
	// dead of 100 000 waiters and more.
	maxGoneOn = 2000
)

// waiter is one call of Lock in the queue of its name.
type waiter = waitqueue.Waiter[lockConfig, attempt]

var nowhere lease.Place

// wait waits in the queue for name, and leaves the queue with the lock or without
// it, also when an observer does not return: those behind it would wait for ever.
func (c *Client) wait(ctx context.Context, name string, cfg lockConfig) (lock *Lock, err error) {
	if cfg.wait == 0 {
		return c.once(ctx, name, cfg)
	}
	var ticket waitqueue.Ticket
	switch {
	case cfg.set != nil:
		ticket = cfg.set.ticket
	case cfg.reads:
		// Readers of one client go together, as far as no writer came between them: each has the
		// ticket of when it came.
		ticket = c.tickets.Next(c.now())
	}
	w := c.queues.Join(name, cfg, ticket)
	defer func() { c.stopWaiting(name, w, lock) }()
	call := waitingCall{Client: c, name: name, w: w, last: ErrNotAcquired} // and nothing more is known
	if cfg.wait != forever {
		timer := time.NewTimer(cfg.wait)
		defer timer.Stop()
		call.patience = timer.C
	}
	lock, err = call.untilLocked(ctx)
	if cfg.set != nil && err == nil && w.Ticket.Known() {
		cfg.set.ticket = w.Ticket
	}
	return lock, err
}

// waitingCall is a call of Lock that waits.
type waitingCall struct {
	*Client
	name     string
	w        *waiter
	patience <-chan time.Time // gets something when the call has waited for long enough; nil: never
	last     error            // of the last attempt
	failures int              // of attempts in a row
}

// untilLocked asks the masters whenever it is the call's turn, until it has the lock.
func (c *waitingCall) untilLocked(ctx context.Context) (*Lock, error) {
	for {
		calls := c.queues.Calls(c.w)
		turn := c.queues.TurnOf(c.w)
		reached, early := c.early(c.w, turn)
		switch {
		case early:
			c.last = &QuorumError{Op: opAcquire, Name: c.name, Reason: ErrHeld, Need: c.needed()}
		case turn.Ask:
			lock, again, err := c.ask(ctx, turn.Handed)
			if lock != nil || err != nil {
				return lock, err
			}
			if again {
				continue
			}
			reached = c.failed(calls)
		case turn.Blocked:
			c.last = c.heldHere(c.name, c.last)
			c.failures = 0
		}
		if err := c.untilWoken(ctx, turn.Ask, reached); err != nil {
			return nil, printable.Because(err, c.last)
		}
	}
}

// ask makes an attempt, or concludes the one that was handed over. It returns the lock, or why the call is
// over, or neither: again tells whether another attempt is worthwhile at once.
func (c *waitingCall) ask(ctx context.Context, handed *attempt) (lock *Lock, again bool, err error) {
	lock, again, err = c.tryFor(ctx, c.name, c.w, handed)
	if err == nil || errors.Is(err, ErrBadOption) {
		return lock, false, err
	}
	if !c.notices.Reach().Quorum {
		err = printable.Join(err, c.uncalled.why())
	}
	switch {
	case ctx.Err() != nil || c.closed.Err() != nil:
		return nil, false, leftWith(ctx, err, c.last)
	case again:
		return nil, true, nil
	case c.w.Want.needsSetup(err):
		return nil, false, printable.Join(err, ErrNeedsSetup)
	}
	c.last = err
	return nil, false, nil
}

// failed takes down when to ask again after an attempt that failed, before which the waiter had had so many calls.
func (c *waitingCall) failed(calls int) (reached waitqueue.Reach) {
	c.w.Failed(calls, c.notices.Quorum())
	reached = c.notices.Listen(&c.w.Listener)
	c.w.AskAt = c.now().Add(c.pauseAfter(c.w, c.failures, c.last, reached))
	c.failures++
	return reached
}

// untilWoken sleeps until there may be something to do: for a call that asks, at the latest when it must ask.
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

// leftWith is the error of a waiter that left, with the error of the attempt that was under way then, and of the one before.
func leftWith(ctx context.Context, failed, before error) error {
	q, _ := errors.AsType[*QuorumError](failed)
	switch {
	case q != nil && q.undecided && before != ErrNotAcquired: // the masters had decided that one
		return printable.Because(q.Reason, before)
	case q != nil && q.undecided, ctx.Err() == nil, errors.Is(failed, context.Cause(ctx)):
		return failed
	}
	return printable.Because(contextError(ctx), failed)
}

// early reports whether w, whose turn it is, need not ask yet: it has inherited its
// place from another waiter, which has asked, and with this reach it misses no
// call.
func (c *Client) early(w *waiter, turn waitqueue.Turn[attempt]) (reached waitqueue.Reach, early bool) {
	if !turn.Ask || !turn.Inherited || turn.Handed != nil || w.Reads != w.Want.reads {
		return waitqueue.Reach{}, false
	}
	reached = c.notices.Listen(&w.Listener)
	return reached, w.Covered(reached) && c.now().Before(w.AskAt)
}

// pauseAfter is how long w waits after its try-th failure in a row (from 0), unless
// it is called.
func (c *Client) pauseAfter(w *waiter, try int, err error, reached waitqueue.Reach) time.Duration {
	if !reached.Quorum || w.Began == 0 { // nobody calls, or nothing could be asked: the members are not known
		spread := time.Duration(float64(c.spread()) * (1 + rand.Float64()) / 2)
		return max(retryPause(try, err, rand.Float64()), spread)
	}
	now := c.now()
	quiet := max(0, w.NotBefore.Sub(now))
	w.NotBefore = now.Add(askInterval)
	if !w.Covered(reached) {
		return c.soon() // a release may have come before the subscriptions
	}
	every := askEvery(w.Want.ttl)
	if refusedByQuorum(err) {
		every = coveredPause(now, rand.Float64())
	}
	if pause, held := calledPause(err, quiet, every); held {
		return pause
	}
	return retryPause(try, err, rand.Float64())
}

// coveredPause is how long a waiter that misses no call pauses from now on: drawn by
// random (in [0,1)) from the last quarter of coveredInterval, so that not all ask at
// once, and on to the next of the moments that are askTogether apart.
func coveredPause(now clock.Instant, random float64) time.Duration {
	at := now.Add(time.Duration(float64(coveredInterval-askTogether) * (3 + random) / 4))
	return at.Add(askTogether - time.Duration(at)%askTogether).Sub(now)
}

// refusedByQuorum reports whether the masters that refused a waiter for another's hold
// are a quorum. It stands in their queues, if it asked for that.
func refusedByQuorum(err error) bool {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok {
		return false
	}
	need := q.Need
	for _, v := range q.Votes {
		if v.Answer == Held {
			need--
		}
	}
	return need <= 0
}

// spread is the time within which all who wait ask, when all have to.
func (c *Client) spread() time.Duration {
	return min(time.Duration(c.notices.Listeners())*spreadEach, maxAskInterval)
}

// soon is a moment in that time.
func (c *Client) soon() time.Duration { return time.Duration(float64(c.spread()) * rand.Float64()) }

// untilItAsks sleeps until the waiter is woken, but at most until the moment when it must ask.
// That moment comes soon if subscriptions break or come back meanwhile, so that a call
// may have been lost, or may come from now on.
func (c *waitingCall) untilItAsks(ctx context.Context, reached waitqueue.Reach) error {
	changed := reached.Changed()
	for {
		didChange, err := c.sleepFor(ctx, c.w.AskAt.Sub(c.now()), changed)
		if err != nil || !didChange {
			return err
		}
		reached = c.notices.Reach()
		changed = reached.Changed()
		if !c.w.Covered(reached) {
			c.w.AskAt = min(c.w.AskAt, c.now().Add(c.soon()))
			changed = nil
		}
	}
}

// followCalls waits until it is worth following the calls that the waiter has had, if there
// are any, or until another who was called has had its time.
func (c *waitingCall) followCalls(ctx context.Context) error {
	for since := c.now(); ; {
		pause := c.w.CallPause(c.queues.Calls(c.w), c.notices.Quorum())
		if c.queues.StandsBy(c.w) {
			pause = standByPause
		}
		if pause -= c.now().Sub(since); pause <= 0 {
			return nil
		}
		if _, err := c.sleepFor(ctx, pause, nil); err != nil {
			return err
		}
	}
}

// sleep waits until the waiter is woken, due gets something, or changed is closed.
func (c *waitingCall) sleep(ctx context.Context, due <-chan time.Time, changed <-chan struct{}) (didChange bool, err error) {
	select {
	case <-c.queues.Woken(c.w):
	case <-due:
	case <-changed:
		return true, nil
	case <-c.patience:
		return false, c.w.Want.waited()
	case <-ctx.Done():
		return false, contextError(ctx)
	case <-c.closed.Done():
		return false, ErrClosed
	}
	return false, nil
}

// sleepFor is sleep for at most pause.
func (c *waitingCall) sleepFor(ctx context.Context, pause time.Duration, changed <-chan struct{}) (didChange bool, err error) {
	timer := c.getTimer(pause)
	defer c.putTimer(timer)
	return c.sleep(ctx, timer.C, changed)
}

// tryFor makes one attempt, or concludes the one that was handed over. again reports
// that another attempt is worthwhile at once: the members have changed, or the waiter
// now has its ticket.
func (c *Client) tryFor(ctx context.Context, name string, w *waiter, handed *attempt) (lock *Lock, again bool, err error) {
	abandonLast(w)
	w.AskAt = 0 // a waiter that inherits the place in the middle of this has to ask
	a := handed
	if a == nil {
		if err := c.mayAsk(ctx, opAcquire, name, &w.Want); err != nil {
			return nil, false, err
		}
		a = c.prepare(c.members.View(), name, w.Want, c.placeFor(w.Ticket))
		a.h.Send(&a.asked, a.call)
	}
	if w.Began, w.Asked = a.start, a.in.Waits(); w.Asked {
		w.EverAsked, w.Ticket, w.Reads = true, a.in.Ticket, w.Want.reads
	}
	lock, err = c.conclude(ctx, a)
	if err == nil {
		return lock, false, nil
	}
	w.Last = a
	if w.EverAsked && !w.Ticket.Known() {
		w.Ticket = c.tickets.Next(c.now())
		if w.Ticket.Known() {
			return nil, true, err
		}
	}
	return nil, c.newerView(ctx, err, a.asked.View, a.deadline) != nil, err
}

// abandonLast drops what w's last attempt has not asked yet.
func abandonLast(w *waiter) {
	if w.Last != nil {
		w.Last.asked.Abandon()
	}
}

// placeFor returns the place in the masters' queues of a waiter with that ticket. A
// waiter without a ticket gets one. The place is nowhere as long as a quorum of masters
// could not call this client.
func (c *Client) placeFor(ticket waitqueue.Ticket) lease.Place {
	if !c.notices.Reach().Quorum {
		return nowhere
	}
	if !ticket.Known() {
		ticket = c.tickets.Next(c.now())
	}
	return lease.Place{Channel: &c.channel, Ticket: ticket}
}

// learnTime takes what a master's vote tells of its time.
func (c *Client) learnTime(master int, v script.Vote) {
	if v.Ticket != 0 {
		c.tickets.Learn(master, waitqueue.Answer{Time: v.Ticket, Sent: v.Sent, Got: v.Got})
	}
}

// callers are those of the client who want a name that another one has.
type callers struct{ c *Client }

func (o callers) Block(name string) { o.c.queues.Block(name) }

func (o callers) Unblock(name string) { o.c.queues.Unblock(name) }

// Next returns the acquisition of the waiter whose turn it is after h, if there is one and it does not ask for itself.
func (o callers) Next(h *lease.Hold) lease.Next {
	w, ticket := o.c.queues.Next(h.Name)
	if w == nil {
		return lease.Next{}
	}
	a := o.c.nextAttempt(h, w.Want, ticket)
	if !o.c.queues.Hand(w, a) || a == nil { // it has left, or asks by itself
		return lease.Next{}
	}
	next := lease.Next{Asked: &a.asked, Call: a.call}
	if a.h.Since != 0 {
		next.Keep = &o.c.channel
	}
	return next
}

// nextAttempt prepares the attempt of the caller of this client who comes after h, and
// has this ticket. As long as this client may keep the name, the masters keep it for
// that caller, whoever else waits. It returns nil if the deployment does not allow what the
// caller wants, who may not have asked before: the caller is told so when it asks by itself.
func (c *Client) nextAttempt(h *lease.Hold, cfg lockConfig, ticket waitqueue.Ticket) *attempt {
	v := c.members.View()
	if c.suits(v, &cfg) != nil {
		return nil
	}
	in := c.placeFor(ticket)
	a := c.prepare(v, h.Name, cfg, in)
	if in.Waits() && !cfg.fair && c.now().Before(h.Since.Add(keepFor)) {
		a.h.Since = h.Since
	}
	return a
}

// stopWaiting takes w out of all queues, with the lock or without.
func (c *Client) stopWaiting(name string, w *waiter, lock *Lock) {
	untaken := c.queues.Leave(w, lock != nil, func(untaken *attempt) {
		if w.EverAsked || untaken != nil && untaken.in.Waits() {
			c.leaveQueues(name, lock)
		}
	})
	abandonLast(w)
	if untaken != nil {
		untaken.giveUp(nowhere)
	}
	c.notices.Rest(&w.Listener)
}

// leaveQueues tells the masters that no caller of this client waits for name. The
// masters that granted had know that already. A master that cannot be reached is
// told later, unless a caller waits again by then. Otherwise that master would first
// keep the free lock for this client when another client asks for it.
func (c *Client) leaveQueues(name string, had *Lock) {
	knows := func(master int) bool { return had != nil && had.h.Master(master).Granted }
	leave := c.leaveRequest(name, &c.channel)
	leave.Until = c.now().Add(script.QueueTTL)
	leave.Policy = obsoleteIf(func(master int) bool { return knows(master) || c.queues.Waiting(name) > 0 })
	for i, m := range c.masters {
		if !knows(i) {
			one := *leave
			m.Submit(&one)
		}
	}
}

// obsoleteIf is the policy of a request that is not wanted any more once the
// function returns true.
type obsoleteIf func(master int) bool

func (f obsoleteIf) Obsolete(master int, _ bool) bool                   { return f(master) }
func (obsoleteIf) Prepare(_ int, given script.Call, _ bool) script.Call { return given }

func (c *Client) leaveRequest(name string, channel *string) *master.Request {
	k := script.KeysOf(c.prefix, name, "")
	return &master.Request{Order: name, Call: script.Leave.Call([]*string{&k.Lock, &k.Queue, &k.Asked}, channel), To: quorum.Nobody{}}
}

// goOn has a master go on with a queue where a batch stopped at its bound. Each such request takes
// somebody out, so there is an end to them. Close waits for some, and does not believe a master that
// never comes to the end.
func (c *Client) goOn(index int, lockKey string) {
	name, ok := script.NameOf(lockKey, c.prefix, MaxNameLen)
	if !ok || c.closed.Err() != nil && c.goneOn.Add(1) > maxGoneOn {
		return
	}
	more := c.leaveRequest(name, &script.GoOn)
	more.Until = c.now().Add(script.QueueTTL)
	c.masters[index].Submit(more)
}

// heldHere returns the error for a waiter that gave up while another caller of this
// client held the lock. If that hold is over by now, it returns last, the error from
// before.
func (c *Client) heldHere(name string, last error) error {
	h := c.holds.Latest(name)
	if h == nil {
		return last
	}
	left, _ := h.Left()
	return &QuorumError{Op: opAcquire, Name: name, Reason: ErrHeld, Need: c.needed(), FreeIn: max(0, left)}
}

// askEvery is the interval at which a waiter that the masters call asks by itself.
// The shorter the lease that it asks for, and so usually the holder's, the sooner
// it matters that the holder died.
func askEvery(ttl time.Duration) time.Duration { return min(max(ttl/6, askInterval), maxAskInterval) }

// calledPause is how long a waiter that is called when the lock is free waits, while
// another holds it: to the moment from which a quorum can be free, or for every, but at
// least for quiet.
func calledPause(err error, quiet, every time.Duration) (pause time.Duration, held bool) {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || q.Reason != ErrHeld {
		return 0, false
	}
	return max(min(q.FreeIn+time.Millisecond, every), quiet), true
}

// retryPause is how long any other waits after the try-th failure in a row (from 0). It
// doubles, is drawn by random (in [0,1)) from its upper half, so that contenders
// do not fall into lockstep, and does not go beyond the moment from which a quorum
// can be free.
func retryPause(try int, err error, random float64) time.Duration {
	base, most := minPause, maxPause
	if q, ok := errors.AsType[*QuorumError](err); ok && q.Reason == ErrHeld {
		most = min(most, q.FreeIn+time.Millisecond)
		if slices.ContainsFunc(q.Votes, func(v Vote) bool { return v.Answer == Granted }) {
			base = splitPause
		}
	}
	return time.Duration(float64(min(base<<min(try, 16), most)) * (1 + random) / 2)
}
