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
	// The pause after a failed attempt grows from minPause to waitqueue.MaxPause. After split votes
	// the pause starts much lower, because nobody holds the lock.
	minPause   = 5 * time.Millisecond
	splitPause = 500 * time.Microsecond

	// A waiter that the masters call also asks by itself:
	//   - The first in line asks at the end of the holder's lease, but at most twice in
	//     AskInterval. It asks at least once in CoveredInterval: this request detects a lock that was
	//     deleted, and keeps the waiter's place in the queues.
	//   - Any other waiter asks after one AskInterval for each waiter ahead of it, but at the latest
	//     after CoveredInterval, because the waiters ahead might not react when the masters call them.
	//   - A waiter that possibly has no place in the queues of a quorum asks at the interval of
	//     askEvery, which is between AskInterval and MaxAskInterval.
	AskInterval     = time.Second
	MaxAskInterval  = 5 * time.Second
	CoveredInterval = script.QueueTTL / 3
	askTogether     = 100 * time.Millisecond // requests that leave together cost much less
)

// pauseAfter returns how long w pauses after another failure, unless a master calls w. It sets
// w.NotBefore for the next pause.
func (c *Client) pauseAfter(w *waiter, err error, reached waitqueue.Reach) time.Duration {
	spread := float64(c.notices.Spread())
	if !reached.Quorum || w.Began == 0 { // no quorum can call the waiter; or no request was sent, because the members are not known
		return max(retryPause(w.Failures, err, rand.Float64()), time.Duration(spread*(1+rand.Float64())/2))
	}
	now := c.Now()
	quiet := max(0, w.NotBefore.Sub(now))
	w.NotBefore = now.Add(AskInterval)
	if !w.Covered(reached) {
		return time.Duration(spread * rand.Float64()) // a release may have come before the subscriptions began
	}
	every, place := askEvery(w.Want.TTL), 0
	if refusedByQuorum(err) {
		place = placeOf(err)
		every = queuedPause(now, place, rand.Float64())
	}
	if pause, held := calledPause(err, quiet, every, place); held {
		return pause
	}
	return retryPause(w.Failures, err, rand.Float64())
}

// queuedPause returns the pause of a waiter that has this place in line and misses no call. random (in
// [0,1)) selects from the last tenth of the longest pause, so that not all waiters ask at once. The
// pause ends at a multiple of askTogether, so that the requests of several waiters leave together.
func queuedPause(now clock.Instant, place int, random float64) time.Duration {
	most := CoveredInterval
	if place > 1 {
		most = min(most, time.Duration(place-1)*AskInterval)
	}
	at := now.Add(time.Duration(float64(most-askTogether) * (9 + random) / 10))
	return at.Add(askTogether - time.Duration(at)%askTogether).Sub(now)
}

// placeOf returns the refused waiter's place in line. On a quorum of masters, the waiter has this
// place or an earlier one. placeOf returns script.Kept if a master keeps the lock for another
// waiter, which may not come. It returns 0 if no master replied with a place.
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

// refusedByQuorum reports whether a quorum of masters refused a waiter because the lock is held. If
// the waiter asked for a place, it is in the queues of these masters.
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

// askEvery returns the interval at which a waiter that the masters call asks by itself. The interval
// is short for a short ttl: usually the holder has the same ttl, so a dead holder's lease ends soon.
func askEvery(ttl time.Duration) time.Duration { return min(max(ttl/6, AskInterval), MaxAskInterval) }

// calledPause returns the pause of a waiter that the masters call, while another owner holds the
// lock. The first waiter pauses until a quorum of masters can be free, but at most for the time
// given by every. Other waiters pause for that whole time. The pause is at least the time given by
// quiet, unless place is Kept. held reports whether others hold the lock.
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

// retryPause returns the pause after the try-th failure in a row (counted from 0), if calledPause
// does not apply. The pause doubles with each failure. random (in [0,1)) selects from the upper
// half of the pause, to keep contenders out of lockstep. For a held lock, the pause ends at the
// latest when a quorum of masters can be free.
func retryPause(try int, err error, random float64) time.Duration {
	base, most := minPause, waitqueue.MaxPause
	if q, ok := errors.AsType[*ask.Failure](err); ok && q.Reason == ask.ErrHeld {
		most = min(most, q.FreeIn+time.Millisecond)
		if slices.ContainsFunc(q.Votes, func(v script.Vote) bool { return v.Answer == script.Granted }) {
			base = splitPause
		}
	}
	return time.Duration(float64(min(base<<min(try, 16), most)) * (1 + random) / 2)
}
