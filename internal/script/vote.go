package script

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Answer is what one master said to one question.
type Answer uint8

// The answers. No answer is Unknown, not a no: the master may have done what it was asked.
const (
	Unknown Answer = iota // no answer: it may have been done or not
	Granted               // yes
	Held                  // no: another owner holds the lock there
	Refused               // no: the master did not do it, Err says why
)

// String returns the answer in lower case.
func (a Answer) String() string {
	return [...]string{"unknown", "granted", "held", "refused"}[a]
}

// Vote is one master's answer to one request, as internal/master reports it. The zero vote is
// pending.
type Vote struct {
	Answered  bool // or given up, with Unknown
	Answer    Answer
	Sent, Got clock.Instant // just before the write, just after the reply
	Grant     int64         // acquire, granted: the grant number
	Remaining time.Duration // acquire, held: of the other's lease; extend, granted: before it was extended
	Place     int           // acquire, held: in line, from 1 to LastPlace; or Kept; 0: not told
	Ticket    int64         // acquire, held: the ticket that was asked for, us
	Err       error         // unknown and refused: why
	MayArrive bool          // the request may be executed yet, or again
	Given     bool          // granted, by a release: a notice told so, and Sent is before the acquire was sent
}

// NotMine reports that the master said for certain that the lock is not the asker's there.
func (v Vote) NotMine() bool { return v.Answer == Held || v.Err == ErrNotMine }

// NoVote reports that the master did nothing because it has no vote at the version that was asked
// for.
func (v Vote) NoVote() bool { return v.Err == ErrVersion || errors.Is(v.Err, ErrNotMember) }

// ErrNotMine is the reason of a vote: the master said for certain that the lock is not the asker's.
var ErrNotMine = errors.New("the lock is not this owner's there")

// ErrNotMember is the reason of a vote: the master may not vote.
var ErrNotMember = errors.New("redlock: master is no voting member")

// ErrDenied is the reason of a vote: what has to be done there cannot be done, because the user may
// not run a command, or the server does not have it.
var ErrDenied = errors.New("redlock: a right or a command is lacking on the master")

// ErrVersion is the reason of a vote: the master votes at another version of the table of members,
// if at all.
var ErrVersion = errors.New("it is at another version of the table of members")
