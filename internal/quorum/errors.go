package quorum

import "errors"

// Reasons of single votes, for people to read: they never stand alone.
var (
	ErrNotSent    = errors.New("not sent: caller gave up")
	ErrNoAnswer   = errors.New("no answer yet")
	ErrNotAwaited = errors.New("not needed: quorum already decided")
	ErrOvertaken  = errors.New("not needed: the members have changed")
)
