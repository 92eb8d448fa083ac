package redlock

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

const (
	// The pause after a failed attempt grows from minPause to maxPause. When votes
	// were split it starts much lower: nobody holds the lock then.
	minPause   = 5 * time.Millisecond
	splitPause = 500 * time.Microsecond
	maxPause   = 250 * time.Millisecond

	// A waiter whom the masters call asks by itself at the end of the holder's lease,
	// but not more often than twice in askInterval, and once in coveredInterval between
	// these: it helps when somebody deleted the lock, and keeps its place in the lines.
	// One that may not stand in the lines of a quorum asks once in an interval of
	// askInterval to maxAskInterval (askEvery).
	askInterval     = time.Second
	maxAskInterval  = 5 * time.Second
	coveredInterval = 20 * time.Second
	askTogether     = 100 * time.Millisecond // what leaves together costs much less

	// When all waiters of a client have to ask, because subscriptions broke or came
	// back, they do so one after the other, so far apart.
	spreadEach = 200 * time.Microsecond

	// standByPause is how long a waiter gives the one before it, who was called, to
	// take the lock: longer than masters keep it.
	standByPause = 250 * time.Millisecond

	// gatherPause is how long a waiter that some masters called waits for a quorum
	// of them: the same release reaches them at different times. It doubles while
	// they do not become one, say because a holder has the others.
	gatherPause = 20 * time.Millisecond

	// trustedCalls is how often in a row a waiter follows a quorum's calls in vain
	// before it pauses likewise. Anybody may have sent them; but once or twice another
	// with a lower ticket may have come before.
	trustedCalls = 2

	// maxUnwanted bounds how many calls of one master for names that nobody here
	// waits for are answered in a second. Who comes after the others waits 200 ms
	// longer for those that are not.
	maxUnwanted = 50

	// lineTTL is how long a line outlasts the last waiter that asked: for some of its
	// intervals. The scripts have it too (scripts/queue.lua).
	lineTTL = 3 * coveredInterval

	// keepFor bounds how long one client hands a name that others wait for from
	// caller to caller. Each change of client costs a notice on top.
	keepFor = 10 * time.Millisecond
)

// place is where a fresh acquisition stands in the masters' lines.
type place struct {
	channel *string // on which this client is called; empty: it does not stand there
	ticket  *string
}

var (
	nobodyWaits = ""
	noTicket    = "0" // asks the masters for one
	nowhere     = place{&nobodyWaits, &nobodyWaits}
)

// kept is the place of a waiter who has one already.
func (p place) kept() place {
	if p.ticket == &noTicket {
		return nowhere
	}
	return p
}

// wait queues for name, and leaves the queue with the lock or without.
func (c *Client) wait(ctx context.Context, name string, cfg lockConfig) (*Lock, error) {
	if cfg.wait == 0 {
		return c.once(ctx, name, cfg)
	}
	w := c.names.join(name, cfg)
	lock, err := c.waitAs(ctx, name, w)
	c.quit(name, w, lock)
	return lock, err
}

// waitAs asks the masters whenever it is w's turn, until w has the lock.
func (c *Client) waitAs(ctx context.Context, name string, w *waiter) (*Lock, error) {
	var patience <-chan time.Time
	if w.cfg.wait != forever {
		timer := time.NewTimer(w.cfg.wait)
		defer timer.Stop()
		patience = timer.C
	}
	last := ErrNotAcquired // and nothing more is known
	for try := 0; ; {
		var pause time.Duration = -1 // until woken
		var reached reach            // what the pause rests on
		heard := c.names.calls(w)
		mine, early, handed, rival := c.names.turn(name, w)
		if early = mine && early && handed == nil; early {
			reached = c.notices.listen(w)
		}
		switch {
		case early && w.covered(reached) && c.now().Before(w.askAt):
			pause = max(0, w.askAt.Sub(c.now())) // negative would be until woken
			last = &QuorumError{Op: opAcquire, Name: name, Reason: ErrHeld, Need: c.need}
		case mine:
			lock, again, err := c.tryFor(ctx, name, w, handed)
			if err == nil {
				return lock, nil
			}
			if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
				err = joinErrors(contextError(ctx), err)
			}
			if ctx.Err() != nil || c.closed.Err() != nil {
				return nil, err
			}
			if again {
				continue
			}
			w.disappointed(heard, c.notices.quorum())
			c.observer.Waiting(name, err)
			reached = c.notices.listen(w)
			pause = c.pauseAfter(w, try, err, reached)
			last = err
			try++
		case rival != nil:
			last = c.heldHere(rival)
			try = 0
		}
		err := c.idle(ctx, w, pause, patience, reached)
		if err == nil {
			err = c.heed(ctx, w, patience)
		}
		if err != nil {
			return nil, joinErrors(err, last)
		}
	}
}

// pauseAfter is how long w waits after its try-th failure in a row (from 0), unless
// it is called.
func (c *Client) pauseAfter(w *waiter, try int, err error, reached reach) time.Duration {
	now := c.now()
	quiet, every := time.Duration(-1), askEvery(w.cfg.ttl)
	if reached.quorum {
		quiet = max(0, w.asked.Add(askInterval).Sub(now))
		w.asked = now
	}
	if inLines(err, c.need) {
		every = coveredPause(now, rand.Float64())
	}
	pause := retryPause(try, err, quiet, every, rand.Float64())
	switch {
	case !reached.quorum:
		pause = max(pause, time.Duration(float64(c.spread())*(1+rand.Float64())/2))
	case !w.covered(reached):
		pause = c.soon() // a release may have come before the subscriptions
	}
	w.askAt = now.Add(pause)
	return pause
}

// coveredPause is how long a waiter that misses no call pauses from now on: drawn by
// random (in [0,1)) from the last quarter of coveredInterval, so that not all ask at
// once, and on to the next of the moments that are askTogether apart.
func coveredPause(now clock.Instant, random float64) time.Duration {
	at := now.Add(time.Duration(float64(coveredInterval-askTogether) * (3 + random) / 4))
	return at.Add(askTogether - time.Duration(at)%askTogether).Sub(now)
}

// inLines reports whether the masters that refused a waiter for another's hold are a
// quorum. It stands in their lines, if it asked for that.
func inLines(err error, need int) bool {
	q, ok := errors.AsType[*QuorumError](err)
	if !ok {
		return false
	}
	for _, v := range q.Votes {
		if v.Answer == Held {
			need--
		}
	}
	return need <= 0
}

// covered reports whether w has missed no call of a quorum of masters since it last
// asked.
func (w *waiter) covered(r reach) bool { return w.placed && r.covers(w.began) }

// spread is the time within which all who wait ask, when all have to.
func (c *Client) spread() time.Duration {
	return min(time.Duration(c.notices.crowd())*spreadEach, maxAskInterval)
}

// soon is a moment in that time.
func (c *Client) soon() time.Duration { return time.Duration(float64(c.spread()) * rand.Float64()) }

// idle sleeps until w is woken, for at most pause if that is not negative. When
// subscriptions break or come back meanwhile, such that a call of w may have been
// lost or may come from now on, the pause is soon over.
func (c *Client) idle(ctx context.Context, w *waiter, pause time.Duration, patience <-chan time.Time, reached reach) error {
	for {
		changed, err := c.sleep(ctx, w, pause, patience, reached.changed)
		if err != nil || !changed {
			return err
		}
		now := c.now()
		if reached = c.notices.reached(); !w.covered(reached) {
			w.askAt = min(w.askAt, now.Add(c.soon()))
			reached.changed = nil
		}
		pause = max(0, w.askAt.Sub(now)) // negative would be until woken
	}
}

// heed waits until it is worth following the calls that w has heard, if there are
// any, or until another who was called has had its time.
func (c *Client) heed(ctx context.Context, w *waiter, patience <-chan time.Time) error {
	for since := c.now(); ; {
		pause := w.callPause(c.names.calls(w), c.notices.quorum())
		if c.names.standsBy(w) {
			pause = standByPause
		}
		if pause -= c.now().Sub(since); pause <= 0 {
			return nil
		}
		if _, err := c.sleep(ctx, w, pause, patience, nil); err != nil {
			return err
		}
	}
}

// callPause is how long w waits before it asks, when so many masters called it.
func (w *waiter) callPause(heard, quorum int) time.Duration {
	vain := w.inVain
	switch {
	case heard == 0:
		return 0
	case heard >= quorum && w.misled < trustedCalls:
		return 0
	case heard >= quorum:
		vain = w.misled - trustedCalls
	}
	return min(gatherPause<<min(vain, 6), askInterval)
}

// disappointed notes that w asked in vain, after so many masters had called it.
func (w *waiter) disappointed(heard, quorum int) {
	switch {
	case heard == 0:
		w.inVain, w.misled = 0, 0
	case heard < quorum:
		w.inVain++
	default:
		w.inVain = 0
		w.misled++
	}
}

// tryFor makes one attempt, or concludes the one that was handed over. again tells
// that it is worth another at once: the deployment was just founded, or the waiter
// has got its ticket now.
func (c *Client) tryFor(ctx context.Context, name string, w *waiter, handed *attempt) (lock *Lock, again bool, err error) {
	w.abandon()
	w.askAt = 0 // an heir that comes in the middle of this has to ask
	a := handed
	if a == nil {
		a = c.prepare(name, w.cfg, c.placeOf(w))
		a.h.send(&a.asked, a.call)
	}
	w.began, w.placed = a.start, a.in != nowhere
	lock, err = c.conclude(ctx, a)
	if err == nil {
		return lock, false, nil
	}
	w.before = &a.asked
	if w.ticket == &noTicket {
		w.ticket = c.masterTime.ticket(c.now())
		if w.ticket != &noTicket {
			return nil, true, err
		}
	}
	return nil, errors.Is(err, ErrNoQuorum) && c.members.Settled(ctx, c.requestTimeout), err
}

// abandon drops what w's last attempt has not asked yet.
func (w *waiter) abandon() {
	if w.before != nil {
		w.before.abandon()
	}
}

// placeOf returns where w stands in the masters' lines: nowhere as long as its
// client could not be called.
func (c *Client) placeOf(w *waiter) place {
	if !c.notices.reached().quorum {
		return nowhere
	}
	w.queued = true
	if w.ticket == nil || w.ticket == &noTicket {
		w.ticket = c.masterTime.ticket(c.now())
	}
	return place{&c.notices.channel, w.ticket}
}

// quit takes w out of all lines, with the lock or without.
func (c *Client) quit(name string, w *waiter, lock *Lock) {
	untaken := c.names.leave(name, w, func() {
		if w.queued {
			c.leaveLines(name, lock)
		}
	})
	w.abandon()
	if untaken != nil {
		untaken.h.giveUp(&untaken.asked, nowhere)
	}
	c.notices.rest(w)
}

// leaveLines tells the masters that nobody of this client waits for name, but those
// that granted the lock that was had, which know. One that cannot be reached is told
// when it can, unless somebody waits again: it would else keep the free lock for
// this client first when another asks for it.
func (c *Client) leaveLines(name string, had *Lock) {
	knows := func(master int) bool { return had != nil && had.h.granted(master) }
	leave := c.leaveRequest(name)
	leave.Until = c.now().Add(lineTTL)
	leave.Policy = obsoleteIf(func(master int) bool { return knows(master) || c.names.wanted(name) })
	for i, m := range c.masters {
		if !knows(i) {
			one := leave
			m.Submit(&one)
		}
	}
}

// obsoleteIf is the policy of a request that is not wanted any more when it says so.
type obsoleteIf func(master int) bool

func (f obsoleteIf) Obsolete(master int, _ bool) bool                   { return f(master) }
func (obsoleteIf) Prepare(_ int, given script.Call, _ bool) script.Call { return given }

func (c *Client) leaveRequest(name string) master.Request {
	k := script.KeysOf(c.prefix, name, "")
	return master.Request{Order: name, Call: script.Leave.Call([]*string{&k.Lock, &k.Queue}, &c.notices.channel), To: noAsker{}}
}

// called is told what a master's notice says: the key of a lock that it keeps for
// this client, or "standby" and the key of one that it keeps for another, behind
// whom this client is the first.
func (c *Client) called(master int, notice string) {
	lockKey, standby := strings.CutPrefix(notice, "standby ")
	name, ok := script.NameOf(lockKey, c.prefix, MaxNameLen)
	switch {
	case !ok:
	case standby:
		c.names.standBy(name)
	default:
		c.names.called(name, master, c.notices.quorum(), func() {
			if !c.notices.unwanted(master, c.now()) {
				return
			}
			leave := c.leaveRequest(name)
			c.masters[master].Submit(&leave)
		})
	}
}

// sleep waits to be woken, for at most pause if that is not negative, or until
// changed is closed.
func (c *Client) sleep(ctx context.Context, w *waiter, pause time.Duration, patience <-chan time.Time, changed <-chan struct{}) (didChange bool, err error) {
	var due <-chan time.Time
	if pause >= 0 {
		timer := c.getTimer(pause)
		defer c.putTimer(timer)
		due = timer.C
	}
	select {
	case <-c.names.sleeper(w):
	case <-due:
	case <-changed:
		return true, nil
	case <-patience:
		return false, context.DeadlineExceeded
	case <-ctx.Done():
		return false, contextError(ctx)
	case <-c.closed.Done():
		return false, ErrClosed
	}
	return false, nil
}

// joinErrors adds why the lock was not had to why the wait for it was over, if
// either is known.
func joinErrors(over, why error) error {
	switch {
	case over == nil:
		return why
	case why == nil:
		return over
	}
	return errors.Join(over, why)
}

// heldHere is what a waiter is told that gave up while another caller of this
// client held the lock.
func (c *Client) heldHere(h *hold) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &QuorumError{Op: opAcquire, Name: h.name, Reason: ErrHeld, Need: c.need, FreeIn: max(0, h.validUntil().Sub(c.now()))}
}

// askEvery is how often a waiter asks by itself that the masters call. The shorter
// the lease that it asks for, and so as a rule the holder's, the sooner it matters
// that the holder died.
func askEvery(ttl time.Duration) time.Duration { return min(max(ttl/6, askInterval), maxAskInterval) }

// retryPause is how long to wait after the try-th failure in a row (from 0). It
// doubles, is drawn by random (in [0,1)) from its upper half, so that contenders
// do not fall into lockstep, and does not go beyond the moment from which a quorum
// can be free. A waiter that is called when the lock is free waits for that
// moment, or for every, but at least for quiet; that is negative for any other.
func retryPause(try int, err error, quiet, every time.Duration, random float64) time.Duration {
	base := minPause
	free := time.Duration(0)
	split := false
	if q, ok := errors.AsType[*QuorumError](err); ok && q.Reason == ErrHeld {
		free = q.FreeIn + time.Millisecond
		for _, v := range q.Votes {
			split = split || v.Answer == Granted
		}
	}
	if split {
		base = splitPause
	}
	pause := min(base<<min(try, 16), maxPause)
	switch {
	case free > 0 && quiet >= 0:
		return max(min(free, every), quiet)
	case free > 0:
		pause = min(pause, free)
	}
	return time.Duration(float64(pause) * (1 + random) / 2)
}
