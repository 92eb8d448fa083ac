package quorum

import "errors"

// ErrLost means that a hold is over, or an operation on it failed, because too many masters
// disowned it: the others are no quorum.
var ErrLost = errors.New("redlock: lock lost")

// Reasons of single votes, for logs: the error that wraps them has more facts.
var (
	ErrNotSent    = errors.New("not sent: caller gave up")
	ErrNoAnswer   = errors.New("no answer yet")
	ErrNotAwaited = errors.New("not needed: quorum already decided")
	ErrOvertaken  = errors.New("not needed: the members have changed")
)
