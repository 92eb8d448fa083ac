package waitqueue

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Progress is a client's place in the masters' queues for a name, and the outcome of its attempts.
// The first waiter of the client has it. When that waiter gives up, the next waiter inherits the
// Progress.
type Progress struct {
	Ticket Ticket // the place: masters order waiters by their tickets

	Began     clock.Instant // the start of the last attempt
	Asked     bool          // the last attempt asked for places
	EverAsked bool          // an attempt asked for places
	Reads     bool          // the last attempt that asked for places was for reading
	NotBefore clock.Instant // the earliest time to ask again without a call

	// Guarded by Queues.mu.
	AskAt    clock.Instant // when to ask without a call; 0: at once
	freed    bool          // a hold of this client ended since the last attempt began: ask at once
	called   uint64        // the masters, as bits, that have called since the last attempt began
	calledAt clock.Instant // the first of these calls
	failure  error         // of the last attempt that the masters decided

	calledByFew int // failed attempts in a row, each after calls by too few masters for a quorum
	falseCalls  int // failed attempts in a row, after calls by a quorum
}

// Covered reports whether the last attempt asked for places, and a quorum of masters could call the
// client without a break since that attempt began.
func (p *Progress) Covered(r Reach) bool { return p.Asked && r.covers(p.Began) }

// count counts a failed attempt. calls is the number of masters that had called before the attempt.
func (p *Progress) count(calls, quorum int) {
	switch {
	case calls == 0:
		p.calledByFew, p.falseCalls = 0, 0
	case calls < quorum:
		p.calledByFew++
	default:
		p.calledByFew = 0
		p.falseCalls++
	}
}

const (
	// gatherPause is how long a waiter waits for a quorum of calls after the first call: a release
	// reaches the masters at different times. The pause doubles while no quorum calls, for example
	// because another holder has the lock on the other masters.
	gatherPause = 20 * time.Millisecond

	// maxGatherPause bounds the doubled gatherPause.
	maxGatherPause = time.Second

	// trustedCalls is how many times in a row a waiter asks at once after calls by a quorum, without
	// getting the lock. Then it pauses even if a quorum calls, because any process can have
	// sent the calls. (Once or twice, a waiter with a lower ticket may have been faster.)
	trustedCalls = 2
)

// callPause returns how long a waiter waits after the first call, if this number of masters has
// called.
func (p *Progress) callPause(calls, quorum int) time.Duration {
	doublings := p.calledByFew
	switch {
	case calls >= quorum && p.falseCalls < trustedCalls:
		return 0
	case calls >= quorum:
		doublings = p.falseCalls - trustedCalls
	}
	return min(gatherPause<<min(doublings, 6), maxGatherPause)
}

// MaxPause is the longest pause of a waiter that no quorum of masters can call, unless the spread of
// the requests is longer.
const MaxPause = 250 * time.Millisecond

// uncoveredPause returns the longest pause of a waiter that may have missed a notice. The requests of
// all waiters of the client are spread over a time (spread).
func (p *Progress) uncoveredPause(r Reach, spread time.Duration) time.Duration {
	if r.Quorum && p.Began != 0 {
		return spread
	}
	return max(MaxPause, spread)
}
