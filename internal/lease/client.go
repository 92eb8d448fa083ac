package lease

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Client is what holds need from the client that they are of.
type Client struct {
	Prefix  string // of all keys
	Now     func() clock.Instant
	View    func() *membership.View // the newest
	Masters []*master.Master
	Callers Callers

	// Begin reports that the client is open. Close waits then until the caller calls done.
	Begin func() (done func(), open bool)
}

// Callers are those who want a name, by calls of the same client. They are called without a lock of
// the hold.
type Callers interface {
	// Block makes them not ask the masters for the name.
	Block(name string)

	// Unblock lets them ask.
	Unblock(name string)

	// Next is Unblock for a hold that is released. The acquisition that it returns, if there is
	// one, leaves together with the release.
	Next(h *Hold) Next
}

// Next is the acquisition of the caller who comes after a hold. The zero value is none.
type Next struct {
	Asked *quorum.Round
	Call  script.Call
	Keep  *string // the client's channel, if the masters are to keep the name for it, whoever else waits
}

// Observer is told what becomes of a hold, without a lock of it.
type Observer interface {
	// Renewed: the lease ends later, in validFor.
	Renewed(h *Hold, validFor time.Duration)

	// RenewalFailed: the votes at the view brought no quorum.
	RenewalFailed(h *Hold, v *membership.View, votes []script.Vote)

	// ClockJumped: a master's clock was seen to have jumped.
	ClockJumped(h *Hold, master int, by time.Duration)

	// Forgotten: it is held for good, because nothing refers to a handle that is not unlocked.
	Forgotten(h *Hold)

	// Ended: it is over. It may not return: see package unwind.
	Ended(h *Hold, cause error)
}
