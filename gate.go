package redlock

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/script"
)

// gate decides whether a server may be used.
type gate interface {
	// greeting returns the commands that are sent first on each new connection.
	greeting() []command

	// greeted reads the replies to them. The error is why the server cannot be used,
	// whatever else is known.
	greeted(*master, []reply) (session, error)
}

// session is what the gate found out about the server at the other end of one
// connection.
type session interface {
	// admit reports why the server may not be used, or, if that takes longer than a
	// moment, how to find out. It runs on the master's own goroutine, so it must not
	// wait for another master.
	admit() (later *inquiry, err error)

	// readmit is called, now and then, after the server has said that it may not answer
	// some calls. It may wait for other masters.
	readmit() error
}

// inquiry finds out whether a server may be used. It has a goroutine of its own.
type inquiry struct {
	ask  func() error
	over func() // called when what ask returned holds
}

// notAdmittedError tells why a server may not be used, and when it is worth asking
// again.
type notAdmittedError struct {
	why   string
	again time.Duration
}

func (e *notAdmittedError) Error() string { return script.ErrNotAdmitted.Error() + ": " + e.why }

func (e *notAdmittedError) Is(target error) bool { return target == script.ErrNotAdmitted }

// againAfter is how long the answer err holds.
func againAfter(err error) time.Duration {
	if out, ok := errors.AsType[*notAdmittedError](err); ok {
		return out.again
	}
	return 0
}
