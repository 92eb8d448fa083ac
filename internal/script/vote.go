package script

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Answer is a master's answer to one question.
type Answer uint8

// The answers. Unknown does not mean no: the master may have executed the request.
const (
	Unknown Answer = iota // no answer: the request may have been executed or not
	Granted               // yes
	Held                  // no: another owner holds the lock there
	Refused               // no: the master did not execute the request; Err has the reason
)

// String returns the answer in lower case.
func (a Answer) String() string {
	return [...]string{"unknown", "granted", "held", "refused"}[a]
}

// Vote is one master's answer to one request, from internal/master. The zero vote is pending.
type Vote struct {
	Answered  bool // there is an answer, or the wait for it was given up (Unknown)
	Answer    Answer
	Sent, Got clock.Instant // just before the write, just after the reply
	Grant     int64         // acquire, granted: the grant number
	Remaining time.Duration // acquire, held: time left of the holder's lease; extend, granted: time left before the extension
	Place     int           // acquire, held: the place in line, from 1 to LastPlace; or Kept; 0: not known
	Ticket    int64         // acquire, held: the ticket that the request asked for, us
	Err       error         // unknown and refused: the reason
	MayArrive bool          // the request may still be executed, for the first time or again
	Given     bool          // granted by a release, and reported by a notice; Sent is before the acquire was sent
}

// NotMine reports whether the master answered that the asker does not have the lock there.
func (v Vote) NotMine() bool { return v.Answer == Held || v.Err == ErrNotMine }

// NoVote reports whether the master did nothing because it has no vote at the requested version.
func (v Vote) NoVote() bool { return v.Err == ErrVersion || errors.Is(v.Err, ErrNotMember) }

// ErrNotMine is the reason of a vote: the asker does not have the lock on the master.
var ErrNotMine = errors.New("the lock is not this owner's there")

// ErrNotMember is the reason of a vote: the master may not vote.
var ErrNotMember = errors.New("redlock: master is no voting member")

// ErrDenied is the reason of a vote: the user may not run a command, or the server does not have
// it.
var ErrDenied = errors.New("redlock: a right or a command is lacking on the master")

// ErrVersion is the reason of a vote: the master does not vote at the request's version of the
// table of members.
var ErrVersion = errors.New("it is at another version of the table of members")
