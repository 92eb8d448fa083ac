package waitqueue

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Progress is where a client stands in the masters' queues for a name, and how its attempts went. The
// first waiter of the client has it, and the next one inherits it when that gives up.
type Progress struct {
	Ticket Ticket // what the masters order it by

	Began     clock.Instant // when the last attempt did
	Asked     bool          // that one asked for places
	EverAsked bool          // one of them did
	Reads     bool          // it was for a reader
	NotBefore clock.Instant // when to ask by itself again, at the earliest
	AskAt     clock.Instant // when to ask by itself, unless called

	CalledByFew int // how often in a row it was called, but not by a quorum, and asked for nothing
	FalseCalls  int // how often in a row it was called by a quorum, and asked for nothing
}

// Covered reports whether the client has missed no notice of a quorum of masters since it last
// asked.
func (p *Progress) Covered(r Reach) bool { return p.Asked && r.covers(p.Began) }

// Failed notes an attempt that failed, after so many masters had called.
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
	// gatherPause is how long a waiter that some masters called waits for a quorum of them: the
	// same release reaches them at different times. It doubles while they do not become one, say
	// because a holder has the others.
	gatherPause = 20 * time.Millisecond

	// maxGatherPause is its bound.
	maxGatherPause = time.Second

	// trustedCalls is how often in a row a waiter follows a quorum's calls in vain before it pauses
	// likewise. Anybody may have sent them; but once or twice another with a lower ticket may have
	// come before.
	trustedCalls = 2
)

// CallPause is how long a waiter waits before it asks, when so many masters called it.
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
