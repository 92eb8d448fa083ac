package master

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/script"
)

// Gate decides whether a server may be used. It runs on the master's own goroutine, so it must not
// wait for another master.
type Gate interface {
	// Greeting returns the commands to send first on each new connection.
	Greeting() []Command

	// Greeted reads the replies to them, and returns the member id of the server. The error is why
	// the server cannot be used.
	Greeted(*Master, []Reply) (member string, err error)

	// Refused is called after the server refused a call because of the call's version, because the
	// server is another member, or because it may not vote. version is the server's reply about the
	// version, or "".
	Refused(_ *Master, version string)
}

// notMemberError means that a server may not be used.
type notMemberError struct {
	why     string
	retryIn time.Duration
}

// NotMember returns an error that wraps script.ErrNotMember, with the reason. The reason holds
// until retryIn has passed.
func NotMember(why string, retryIn time.Duration) error { return &notMemberError{why, retryIn} }

func (e *notMemberError) Error() string { return script.ErrNotMember.Error() + ": " + e.why }

func (e *notMemberError) Is(target error) bool { return target == script.ErrNotMember }

// retryIn returns how long err holds.
func retryIn(err error) time.Duration {
	if out, ok := errors.AsType[*notMemberError](err); ok {
		return out.retryIn
	}
	return 0
}
