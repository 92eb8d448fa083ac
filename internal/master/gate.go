package master

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/script"
)

// Gate decides whether a server may be used. The master's own goroutines call the methods, which must
// not wait for another master.
type Gate interface {
	// Greeting returns the commands to send first on each new connection.
	Greeting() []Command

	// Greeted reads the replies to the commands of Greeting, and returns the member id of the server.
	// It returns an error if the server cannot be used.
	Greeted(*Master, []Reply) (member string, err error)

	// Refused is called after the server refused a call. The reason was the call's version, or that the
	// server is another member, or that the server may not vote. version is the server's reply about
	// the version, or "".
	Refused(_ *Master, version string)
}

// notMemberError means that a server may not be used.
type notMemberError struct {
	why     string
	retryIn time.Duration
}

// NotMember returns an error that wraps script.ErrNotMember, with the reason. After this error, the next
// connection is tried when the duration retryIn has passed.
func NotMember(why string, retryIn time.Duration) error { return &notMemberError{why, retryIn} }

func (e *notMemberError) Error() string { return script.ErrNotMember.Error() + ": " + e.why }

func (e *notMemberError) Is(target error) bool { return target == script.ErrNotMember }

// retryIn returns how long to wait after err before the next connection is tried.
func retryIn(err error) time.Duration {
	if out, ok := errors.AsType[*notMemberError](err); ok {
		return out.retryIn
	}
	return 0
}
