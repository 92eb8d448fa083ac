package lease

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// The reasons of votes that do not count in their round.
const (
	ErrClockJumped = quorum.InNextRound("its clock jumped: the vote does not count in this round")
	ErrRepaired    = quorum.InNextRound("the lock was written back: the vote counts from the next round on")
	ErrUndoing     = quorum.InNextRound("an undo of the grant is under way: the vote does not count in this round")
)

// Master is the state of one master for an owner. doc.go has a picture of the states. Every answer
// goes through the method take, so no answer updates only a part of the state.
type Master struct {
	// The state is granted if Granted is set, else lost if Lost is, else refused if Answered is, else unasked.
	// When an extend finds a lost lock again, Granted and Lost are both set until a repair succeeds.
	Answered bool // the acquire was answered
	Granted  bool // it had the owner's lock when it last answered
	Lost     bool // it answered "not yours" after the acquisition: the next renewal repairs the lock

	// These may be set in each state.
	MayArrive   bool          // in doubt: it may still execute an acquire or a repair of this owner; never reset
	Undoing     bool          // a copy of the client's undo of an early grant may still be executed; set by Undo
	Offered     clock.Instant // until then another owner's release may grant this owner the lock; 0: no release may
	Repairs     int           // the number of repairs under way
	Asked       clock.Instant // time of the last renewal's request; 0: none
	NonVotingAt string        // version of the members at which it refused because it has no vote

	// These fields describe a granted lock. A loss resets Grant, Confirmed and Expiry, and ends Until and Previous at
	// once.
	Grant     int64         // the number of its current grant; 0: not known
	Confirmed bool          // its lock has the token
	Until     clock.Instant // its vote counts until then; 0: it does not count
	Previous  clock.Instant // its vote at an earlier version of the table of members counts until then
	Expiry    quorum.Expiry // of the key; an unknown answer may move Hi
}

// String returns the state in words.
func (s Master) String() string {
	words := []string{"refused"}
	switch {
	case !s.Answered:
		words[0] = "unasked"
	case s.Granted:
		words[0] = fmt.Sprintf("granted %d", s.Grant)
	case s.Lost:
		words[0] = "lost"
	}
	for _, x := range []struct {
		is   bool
		word string
	}{{s.Granted && s.Lost, "lost"}, {s.Confirmed, "confirmed"}, {s.MayArrive, "in-doubt"}, {s.Undoing, "undoing"}, {s.Offered != 0, "offered"}, {s.Repairs > 0, "repairing"}, {s.NonVotingAt != "", "non-voting"}} {
		if x.is {
			words = append(words, x.word)
		}
	}
	return strings.Join(words, " ")
}

// Question is the kind of a request to a master.
type Question uint8

// The questions.
const (
	ToAcquire Question = iota
	ToReenter
	ToExtend
	ToRepair
)

// Answer is a vote, with the facts that decide its meaning.
type Answer struct {
	To      Question
	Vote    script.Vote
	Terms   quorum.Terms
	given   quorum.Terms  // of a grant by a release
	Reads   bool          // the owner reads: it has no grant number
	Now     clock.Instant // time at which it is taken
	version string        // of the members, sent with the request
	counts  bool          // a grant proves the lease
}

// take records an answer, and returns the vote that counts in its round. If an extend does not
// count because the master's clock jumped since the last answer, jumped is the size of the jump.
func (s *Master) take(a Answer) (counted script.Vote, jumped time.Duration) {
	v := a.Vote
	if !v.Answered {
		return v, 0
	}
	if a.To == ToAcquire && s.Answered && !v.Given {
		s.MayArrive = s.MayArrive || v.MayArrive // the notice of a grant came before this reply
		return v, 0
	}
	switch a.To {
	case ToAcquire:
		if v.Given {
			s.Offered = 0
			if s.Granted || s.Lost {
				s.MayArrive = s.MayArrive || s.Lost // Lost: the master answered "not yours" before this notice came
				return v, 0
			}
		}
		s.Answered = true
		s.MayArrive = s.MayArrive || v.MayArrive
		if v.Answer == script.Held && a.given.TTL > 0 {
			s.Offered = v.Got.Add(a.given.OfferLife())
		}
	case ToReenter:
		s.MayArrive = s.MayArrive || v.MayArrive
	case ToRepair:
		s.Repairs--
		s.MayArrive = s.MayArrive || v.MayArrive || v.Answer == script.Unknown // the repair may still be executed, once or again: the release must leave a gone mark
	}
	if v.Answer == script.Granted || v.NotMine() {
		s.NonVotingAt = "" // it votes
	}
	switch {
	case v.NotMine():
		if a.To != ToAcquire {
			s.revoke(a.Now)
			*s = Master{Answered: s.Answered, NonVotingAt: s.NonVotingAt, MayArrive: s.MayArrive, Undoing: s.Undoing, Offered: s.Offered, Lost: true, Repairs: s.Repairs, Asked: s.Asked, Until: s.Until, Previous: s.Previous}
		}
	case v.Answer == script.Granted:
		return s.yes(a)
	case v.Answer == script.Unknown:
		s.Expiry.Hi = max(s.Expiry.Hi, v.Got.Add(a.Terms.KeyTTL())) // the master may have executed the request
	case v.NoVote():
		s.NonVotingAt = a.version
	}
	return v, 0
}

// yes records an answer that grants.
func (s *Master) yes(a Answer) (counted script.Vote, jumped time.Duration) {
	v, terms := a.Vote, a.Terms
	if s.Undoing { // the lock may be gone at any moment
		return script.Vote{Answered: true, Answer: script.Refused, Err: ErrUndoing}, 0
	}
	if v.Given {
		terms = a.given
	}
	asked := quorum.ExpiryAfter(v.Sent, v.Got, max(v.Remaining, terms.KeyTTL()))
	wasGranted := s.Granted
	s.Granted = true
	switch {
	case a.To == ToExtend:
		if wasGranted {
			jumped = s.Expiry.Jump(v.Remaining, v.Sent, v.Got, terms.Drift)
		}
		s.Expiry = asked
	case a.To == ToRepair:
		// The vote counts from the next round on: between the last extend and the repair, another owner
		// may have held the lock on this master.
		s.Grant, s.Confirmed, s.Lost = v.Grant, true, false
		s.Expiry = s.Expiry.AtLeast(asked)
		return script.Vote{Answered: true, Answer: script.Refused, Err: ErrRepaired}, 0
	case wasGranted && s.Grant != 0 && s.Grant != v.Grant && !a.Reads:
		// The grant of the earlier vote is gone: its key expired, and then a late copy of our own acquire
		// was granted. In between, a rival may have held the lock.
		s.revoke(a.Now)
		s.Granted, s.Grant, s.Confirmed, s.MayArrive, s.Expiry = true, v.Grant, false, true, asked
		return script.Vote{Answered: true, Answer: script.Refused, Err: script.ErrNotMine}, 0
	default:
		s.Grant = v.Grant
		s.Expiry = s.Expiry.AtLeast(asked)
	}
	if a.counts && jumped == 0 {
		s.Until = max(s.Until, terms.ValidUntil(v.Sent))
	}
	if jumped != 0 {
		v = script.Vote{Answered: true, Answer: script.Refused, Err: ErrClockJumped}
	}
	return v, jumped
}

// revoke makes the master's votes end at the time now.
func (s *Master) revoke(now clock.Instant) {
	s.Until, s.Previous = min(s.Until, now), min(s.Previous, now)
}

// Absent reports whether the master does not have the lock, and will never have it.
func (s Master) Absent() bool {
	return s.Answered && !s.Granted && !s.MayArrive && !s.Undoing && s.Offered == 0 && s.Repairs == 0
}

// MayCome reports whether the master may still grant the lock if no request prevents that.
func (s Master) MayCome(now clock.Instant) bool { return s.MayArrive || now.Before(s.Offered) }

// unconfirmed reports whether the master has the lock without its token: it granted a lower number,
// and has not confirmed the token.
func (s Master) unconfirmed(token fence.Token) bool {
	return s.Granted && !s.Confirmed && s.Grant != int64(token)
}
