package waitqueue

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Progress is a client's place in the masters' queues for a name, and the outcome of its attempts.
// The first waiter of the client has it. When that gives up, the next waiter inherits it.
type Progress struct {
	Ticket Ticket // the place, by which masters order waiters

	Began     clock.Instant // the start of the last attempt
	Asked     bool          // the last attempt asked for places
	EverAsked bool          // an attempt asked for places
	Reads     bool          // the last attempt that asked was for reading
	NotBefore clock.Instant // the earliest time to ask again without a call
	AskAt     clock.Instant // when to ask again without a call

	CalledByFew int // attempts in a row that failed after calls of fewer masters than a quorum
	FalseCalls  int // attempts in a row that failed after calls of a quorum
}

// Covered reports whether the client has missed no notice of a quorum of masters since it last
// asked.
func (p *Progress) Covered(r Reach) bool { return p.Asked && r.covers(p.Began) }

// Failed counts a failed attempt. calls is the number of masters that had called before it.
func (p *Progress) Failed(calls, quorum int) {
	switch {
	case calls == 0:
		p.CalledByFew, p.FalseCalls = 0, 0
	case calls < quorum:
		p.CalledByFew++
	default:
		p.CalledByFew = 0
		p.FalseCalls++
	}
}

const (
	// gatherPause is how long a waiter waits for a quorum of calls after the first call: a release
	// reaches the masters at different times. It doubles while no quorum calls, for example because
	// another holder has the lock on the other masters.
	gatherPause = 20 * time.Millisecond

	// maxGatherPause bounds the doubled gatherPause.
	maxGatherPause = time.Second

	// trustedCalls is how often in a row a waiter follows a quorum's calls in vain before it pauses
	// likewise: any process may have sent them. (Once or twice, a waiter with a lower ticket may
	// have been faster.)
	trustedCalls = 2
)

// CallPause returns how long a waiter waits before it asks. calls is the number of masters that have
// called it.
func (p *Progress) CallPause(calls, quorum int) time.Duration {
	doublings := p.CalledByFew
	switch {
	case calls == 0:
		return 0
	case calls >= quorum && p.FalseCalls < trustedCalls:
		return 0
	case calls >= quorum:
		doublings = p.FalseCalls - trustedCalls
	}
	return min(gatherPause<<min(doublings, 6), maxGatherPause)
}
