package quorum

import "errors"

// ErrLost means that a hold is over, or that an operation on a hold failed: so many masters
// disowned the hold that the others are no quorum.
var ErrLost = errors.New("redlock: lock lost")

// Reasons of single votes, for logs. The errors that wrap them have more facts.
var (
	ErrNotSent    = errors.New("not sent: caller gave up")
	ErrNoAnswer   = errors.New("no answer yet")
	ErrNotAwaited = errors.New("not needed: quorum already decided")
	ErrOvertaken  = errors.New("not needed: the members have changed")
)
