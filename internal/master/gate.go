package master

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/script"
)

// Gate decides whether a server may be used. It runs on the master's own goroutine, so it must not
// wait for another master.
type Gate interface {
	// Greeting returns the commands that are sent first on each new connection.
	Greeting() []Command

	// Greeted reads the replies to them, and returns the id of the member that the server is. The
	// error is why the server cannot be used.
	Greeted(*Master, []Reply) (member string, err error)

	// Refused is called after the server refused a call because of its version, or because it is
	// not the member that the call was for, or may not vote; version is the refusal for the version,
	// or "".
	Refused(_ *Master, version string)
}

// notMemberError tells why a server may not be used, and when it is worth asking again.
type notMemberError struct {
	why     string
	retryIn time.Duration
}

// NotMember returns an error that is script.ErrNotMember. It tells why a server may not be used,
// and is taken for the answer until retryIn has passed.
func NotMember(why string, retryIn time.Duration) error { return &notMemberError{why, retryIn} }

func (e *notMemberError) Error() string { return script.ErrNotMember.Error() + ": " + e.why }

func (e *notMemberError) Is(target error) bool { return target == script.ErrNotMember }

// retryIn is how long the answer err holds.
func retryIn(err error) time.Duration {
	if out, ok := errors.AsType[*notMemberError](err); ok {
		return out.retryIn
	}
	return 0
}
