package acquire

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

const (
	// The pause after a failed attempt grows from minPause to MaxPause. When votes were split it
	// starts much lower: nobody holds the lock then.
	minPause   = 5 * time.Millisecond
	splitPause = 500 * time.Microsecond
	MaxPause   = 250 * time.Millisecond

	// A waiter that the masters call also asks by itself: at the end of the holder's lease, but at
	// most twice in AskInterval, and in between once in CoveredInterval. That helps when somebody
	// deleted the lock, and keeps its place in the queues. A waiter that may not stand in the
	// queues of a quorum asks once in an interval of AskInterval to MaxAskInterval (askEvery).
	AskInterval     = time.Second
	MaxAskInterval  = 5 * time.Second
	CoveredInterval = script.QueueTTL / 3
	askTogether     = 100 * time.Millisecond // what leaves together costs much less

	// When all waiters of a client have to ask, because subscriptions broke or came back, they do
	// so one after the other, so far apart.
	SpreadEach = 200 * time.Microsecond
)

// pauseAfter is how long w waits after its try-th failure in a row (from 0), unless it is called.
func (c *Client) pauseAfter(w *waiter, try int, err error, reached waitqueue.Reach) time.Duration {
	if !reached.Quorum || w.Began == 0 { // nobody calls, or nothing could be asked: the members are not known
		spread := time.Duration(float64(c.spread()) * (1 + rand.Float64()) / 2)
		return max(retryPause(try, err, rand.Float64()), spread)
	}
	now := c.Now()
	quiet := max(0, w.NotBefore.Sub(now))
	w.NotBefore = now.Add(AskInterval)
	if !w.Covered(reached) {
		return c.soon() // a release may have come before the subscriptions
	}
	every := askEvery(w.Want.TTL)
	if refusedByQuorum(err) {
		every = coveredPause(now, rand.Float64())
	}
	if pause, held := calledPause(err, quiet, every); held {
		return pause
	}
	return retryPause(try, err, rand.Float64())
}

// coveredPause is how long a waiter that misses no call pauses from now on. It is drawn by random
// (in [0,1)) from the last quarter of CoveredInterval, so that not all ask at once. It ends at a
// multiple of askTogether, so that those who do ask together.
func coveredPause(now clock.Instant, random float64) time.Duration {
	at := now.Add(time.Duration(float64(CoveredInterval-askTogether) * (3 + random) / 4))
	return at.Add(askTogether - time.Duration(at)%askTogether).Sub(now)
}

// refusedByQuorum reports whether the masters that refused a waiter for another's hold are a
// quorum. It stands in their queues, if it asked for that.
func refusedByQuorum(err error) bool {
	q, ok := errors.AsType[*ask.Failure](err)
	if !ok {
		return false
	}
	need := q.Need
	for _, v := range q.Votes {
		if v.Answer == script.Held {
			need--
		}
	}
	return need <= 0
}

// spread is the time within which all waiters of the client ask, when all have to.
func (c *Client) spread() time.Duration {
	return min(time.Duration(c.notices.Listeners())*SpreadEach, MaxAskInterval)
}

// soon is a moment in that time.
func (c *Client) soon() time.Duration { return time.Duration(float64(c.spread()) * rand.Float64()) }

// askEvery is the interval at which a waiter that the masters call asks by itself. The shorter the
// lease that it asks for, and so usually the holder's, the sooner it matters that the holder died.
func askEvery(ttl time.Duration) time.Duration { return min(max(ttl/6, AskInterval), MaxAskInterval) }

// calledPause is how long a waiter pauses while another holds the lock, if the masters call the
// waiter when it is free: until a quorum can be free, but at most for the interval every, and at
// least for quiet.
func calledPause(err error, quiet, every time.Duration) (pause time.Duration, held bool) {
	q, ok := errors.AsType[*ask.Failure](err)
	if !ok || q.Reason != ask.ErrHeld {
		return 0, false
	}
	return max(min(q.FreeIn+time.Millisecond, every), quiet), true
}

// retryPause is how long any other waits after the try-th failure in a row (from 0). It doubles, is
// drawn by random (in [0,1)) from its upper half, so that contenders do not fall into lockstep, and
// does not go beyond the moment from which a quorum can be free.
func retryPause(try int, err error, random float64) time.Duration {
	base, most := minPause, MaxPause
	if q, ok := errors.AsType[*ask.Failure](err); ok && q.Reason == ask.ErrHeld {
		most = min(most, q.FreeIn+time.Millisecond)
		if slices.ContainsFunc(q.Votes, func(v script.Vote) bool { return v.Answer == script.Granted }) {
			base = splitPause
		}
	}
	return time.Duration(float64(min(base<<min(try, 16), most)) * (1 + random) / 2)
}
