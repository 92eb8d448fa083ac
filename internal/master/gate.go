package master

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/script"
)

// Gate decides whether a server may be used.
type Gate interface {
	// Greeting returns the commands that are sent first on each new connection.
	Greeting() []Command

	// Greeted reads the replies to them. The error is why the server cannot be used,
	// whatever else is known.
	Greeted(*Master, []Reply) (Session, error)
}

// Session is what the gate found out about the server at the other end of one
// connection.
type Session interface {
	// Admit reports why the server may not be used, or, if that takes longer than a
	// moment, how to find out. It runs on the master's own goroutine, so it must not
	// wait for another master.
	Admit() (later *Inquiry, err error)

	// Readmit is called, now and then, after the server has said that it may not answer
	// some calls. It may wait for other masters.
	Readmit() error
}

// Inquiry finds out whether a server may be used. It has a goroutine of its own.
type Inquiry struct {
	Ask  func() error
	Over func() // called when what Ask returned holds
}

// notAdmittedError tells why a server may not be used, and when it is worth asking
// again.
type notAdmittedError struct {
	why     string
	retryIn time.Duration
}

// NotAdmitted returns an error that is script.ErrNotAdmitted. It tells why a server may
// not be used, and is taken for the answer until retryIn has passed.
func NotAdmitted(why string, retryIn time.Duration) error { return &notAdmittedError{why, retryIn} }

func (e *notAdmittedError) Error() string { return script.ErrNotAdmitted.Error() + ": " + e.why }

func (e *notAdmittedError) Is(target error) bool { return target == script.ErrNotAdmitted }

// retryIn is how long the answer err holds.
func retryIn(err error) time.Duration {
	if out, ok := errors.AsType[*notAdmittedError](err); ok {
		return out.retryIn
	}
	return 0
}
