package lease

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Client has the parts of a client that its holds use.
type Client struct {
	Prefix  string // of all keys
	Now     func() clock.Instant
	View    func() *membership.View // the newest
	Masters []*master.Master
	Callers Callers

	// Begin registers a call, and reports whether the client is open. If so, Close waits until done
	// is called.
	Begin func() (done func(), open bool)
}

// Callers are the waiting calls of the same client. A hold calls these methods without holding any hold's mutex.
type Callers interface {
	// Block stops the callers from asking the masters for the name.
	Block(name string)

	// Unblock undoes Block.
	Unblock(name string)

	// Next unblocks the name of a hold that is being released. If a caller waits, Next returns the
	// acquisition of the next caller, which must be sent with the release.
	Next(h *Hold) Next
}

// Next is the acquisition of the next caller. The zero value means that there is none.
type Next struct {
	Asked *quorum.Round
	Call  script.Call
	Keep  *string // this client's channel, if the masters are to keep the name for this client before other clients
}

// Observer is notified of the events of a hold. No mutex of the hold is held meanwhile.
type Observer interface {
	// Renewed: the lease was extended, and ends in validFor.
	Renewed(h *Hold, validFor time.Duration)

	// RenewalFailed: a renewal got these votes at the view, and no quorum.
	RenewalFailed(h *Hold, v *membership.View, votes []script.Vote)

	// ClockJumped: a master's clock jumped.
	ClockJumped(h *Hold, master int, by time.Duration)

	// Forgotten: the program has lost a handle without unlocking it, so the hold lasts until Close.
	Forgotten(h *Hold)

	// Ended: the hold is over. An observer might never return from Ended: see package unwind.
	Ended(h *Hold, cause error)
}

// Silent is an Observer that does nothing.
type Silent struct{}

func (Silent) Renewed(*Hold, time.Duration)                         {}
func (Silent) RenewalFailed(*Hold, *membership.View, []script.Vote) {}
func (Silent) ClockJumped(*Hold, int, time.Duration)                {}
func (Silent) Forgotten(*Hold)                                      {}
func (Silent) Ended(*Hold, error)                                   {}
