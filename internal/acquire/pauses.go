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

	// A waiter that the masters call also asks by itself. The first in line does at the end of the
	// holder's lease, but at most twice in AskInterval, and in between once in CoveredInterval: that
	// helps when somebody deleted the lock, and keeps its place in the queues. Any other does after
	// as many times AskInterval as there are places before it, and CoveredInterval at most: those
	// before it may be called and not come. A waiter that may not stand in the queues of a quorum
	// asks once in an interval of AskInterval to MaxAskInterval (askEvery).
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
	every, place := askEvery(w.Want.TTL), 0
	if refusedByQuorum(err) {
		place = placeOf(err)
		every = standingPause(now, place, rand.Float64())
	}
	if pause, held := calledPause(err, quiet, every, place); held {
		return pause
	}
	return retryPause(try, err, rand.Float64())
}

// standingPause is how long a waiter that misses no call, and has this place in line, pauses from now
// on. It is drawn by random (in [0,1)) from the last tenth of what it may be, so that not all ask at
// once. It ends at a multiple of askTogether, so that those who do ask together.
func standingPause(now clock.Instant, place int, random float64) time.Duration {
	most := CoveredInterval
	if place > 1 {
		most = min(most, time.Duration(place-1)*AskInterval)
	}
	at := now.Add(time.Duration(float64(most-askTogether) * (9 + random) / 10))
	return at.Add(askTogether - time.Duration(at)%askTogether).Sub(now)
}

// placeOf is the place in line at which a quorum of masters has who was refused, or before it; or
// script.Kept if one of them keeps the lock for another one, who may not come; 0: they did not tell.
func placeOf(err error) int {
	q, _ := errors.AsType[*ask.Failure](err)
	var places []int
	for _, v := range q.Votes {
		if v.Place == script.Kept {
			return script.Kept
		}
		if v.Place > 0 {
			places = append(places, v.Place)
		}
	}
	if len(places) == 0 {
		return 0
	}
	slices.Sort(places)
	return places[min(q.Need, len(places))-1]
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

// calledPause is how long a waiter at this place pauses while another holds the lock, if the masters
// call the waiter when it is free: until a quorum can be free, but at most for the interval every,
// and at least for quiet. Who is not the first leaves the end of a lease to those before it.
func calledPause(err error, quiet, every time.Duration, place int) (pause time.Duration, held bool) {
	q, ok := errors.AsType[*ask.Failure](err)
	switch {
	case !ok || q.Reason != ask.ErrHeld:
		return 0, false
	case place == script.Kept:
		return min(q.FreeIn+time.Millisecond, every), true
	case place > 1:
		return max(every, quiet), true
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
