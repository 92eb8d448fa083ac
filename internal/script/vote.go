package script

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Answer is what a master answered to one request.
type Answer uint8

// The answers.
const (
	Unknown Answer = iota // no answer: the master may have executed the request or not
	Granted               // yes
	Held                  // no: the name is taken there
	Refused               // no: the master did not execute the request; Err has the reason
)

// String returns the answer in lower case.
func (a Answer) String() string {
	return [...]string{"unknown", "granted", "held", "refused"}[a]
}

// Vote is one master's answer to one request. Package master makes it. The zero Vote means that there
// is no answer yet.
type Vote struct {
	Answered  bool // there is an answer, or nobody waits for it any more (Unknown)
	Answer    Answer
	Sent, Got clock.Instant // just before the request was written, and just after the reply was read
	Grant     int64         // acquire, granted: the grant number
	Remaining time.Duration // acquire, held: time left of the holder's lease; extend, granted: time left before the extension
	Place     int           // acquire, held: the place in line, from 1 to LastPlace; or Kept; 0: not known
	Ticket    int64         // acquire, held: the master's time, us, if the request needs a ticket; otherwise 0
	Err       error         // unknown or refused: the reason
	MayArrive bool          // the request may still be executed, for the first time or again
	Given     bool          // a release granted the lock, and a notice reported this; Sent precedes the acquire
}

// NotMine reports whether the master answered that the owner of the request does not have the lock there.
func (v Vote) NotMine() bool { return v.Answer == Held || v.Err == ErrNotMine }

// NoVote reports whether the master did nothing because it has no vote at the request's version.
func (v Vote) NoVote() bool { return v.Err == ErrVersion || errors.Is(v.Err, ErrNotMember) }

// ErrNotMine is the reason for a refusal: the owner does not have the lock on the master.
var ErrNotMine = errors.New("the lock is not this owner's there")

// ErrNotMember is the reason for a refusal: the master may not vote.
var ErrNotMember = errors.New("redlock: master is no voting member")

// ErrDenied is the reason for a refusal: the user may not run a command, or the server lacks it.
var ErrDenied = errors.New("redlock: a right or a command is lacking on the master")

// ErrVersion is the reason for a refusal: the master does not vote at the request's version of the
// table of members.
var ErrVersion = errors.New("it is at another version of the table of members")
