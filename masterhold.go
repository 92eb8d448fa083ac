package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// masterHold is what a hold knows of one master. Every answer goes in by take, whatever the master
// was asked, so no answer updates only a part of it.
type masterHold struct {
	heard     bool          // the acquire was answered
	mute      string        // the version of the members at which it had no vote, if it refused something for that
	granted   bool          // the lock was the owner's there when last heard
	doubt     bool          // an acquire of this owner may be executed there yet
	lost      bool          // it said "not yours" after the acquisition: the next renewal repairs it
	repairs   int           // under way
	asked     clock.Instant // by the last renewal
	grant     int64         // the number of the grant that stands there; 0: not known
	confirmed bool          // the token is noted in the lock there
	until     clock.Instant // the vote counts until then
	earlier   clock.Instant // so did the one at an earlier version of the table of members
	expiry    quorum.Expiry // of the key
}

// question is what a master was asked for a hold.
type question uint8

const (
	toAcquire question = iota
	toReenter
	toExtend
	toRepair
)

// answer is a vote, and what it is read by.
type answer struct {
	to      question
	vote    script.Vote
	terms   quorum.Terms
	version string        // of the members, at which it was asked
	reads   bool          // the hold is for reading: it has no grant number
	counts  bool          // a yes proves the lease
	now     clock.Instant // when it is taken
}

// take notes an answer, and returns what counts of it in its round. jumped is by how much the master's
// clock did since the last answer, if that is why an extend does not count.
func (s *masterHold) take(a answer) (counted script.Vote, jumped time.Duration) {
	v := a.vote
	if !v.Heard || a.to == toAcquire && s.heard {
		return v, 0
	}
	switch a.to {
	case toAcquire:
		s.heard = true
		s.doubt = s.doubt || v.Doubt
	case toReenter:
		s.doubt = s.doubt || v.Doubt
	case toRepair:
		s.repairs--
		s.doubt = s.doubt || v.Doubt || v.Answer == script.Unknown // it may be written back yet, or again: the release must leave a mark
	}
	if v.Answer == script.Granted || v.NotMine() {
		s.mute = "" // it votes
	}
	switch {
	case v.NotMine():
		if a.to != toAcquire {
			s.strike(a.now)
			*s = masterHold{heard: s.heard, mute: s.mute, doubt: s.doubt, lost: true, repairs: s.repairs, asked: s.asked, until: s.until, earlier: s.earlier}
		}
	case v.Answer == script.Granted:
		return s.yes(a)
	case v.Answer == script.Unknown:
		s.expiry.Hi = max(s.expiry.Hi, v.Got.Add(a.terms.KeyTTL())) // it may have been done
	case v.NoVote():
		s.mute = a.version
	}
	return v, 0
}

// yes is take of a grant.
func (s *masterHold) yes(a answer) (counted script.Vote, jumped time.Duration) {
	v := a.vote
	asked := quorum.ExpiryAfter(v.Sent, v.Got, max(v.Remaining, a.terms.KeyTTL()))
	had := s.granted
	s.granted = true
	switch {
	case a.to == toExtend:
		if had {
			jumped = s.expiry.Jump(v.Remaining, v.Sent, v.Got, a.terms.Drift)
		}
		s.expiry = asked
	case a.to == toRepair:
		// The vote counts from the next round on: in this one, the master may have
		// been another's between the last extend and the repair.
		s.grant, s.confirmed, s.lost = v.Grant, true, false
		s.expiry = s.expiry.AtLeast(asked)
		return script.Vote{Heard: true, Answer: script.Refused, Err: errRepaired}, 0
	case had && s.grant != 0 && s.grant != v.Grant && !a.reads:
		// Not the grant that voted: the key expired and was granted again, to a late
		// copy of our own acquire. What stood between may have been a rival's.
		s.strike(a.now)
		s.granted, s.grant, s.confirmed, s.doubt, s.expiry = true, v.Grant, false, true, asked
		return script.Vote{Heard: true, Answer: script.Refused, Err: script.ErrNotMine}, 0
	default:
		s.grant = v.Grant
		s.expiry = s.expiry.AtLeast(asked)
	}
	if a.counts && jumped == 0 {
		s.until = max(s.until, a.terms.ValidUntil(v.Sent))
	}
	if jumped != 0 {
		v = script.Vote{Heard: true, Answer: script.Refused, Err: errClockJumped}
	}
	return v, jumped
}

// strike takes back what the master granted: its votes stop counting now.
func (s *masterHold) strike(now clock.Instant) {
	s.granted = false
	s.until, s.earlier = min(s.until, now), min(s.earlier, now)
}

// absent reports that the master does not have the lock, and never will.
func (s masterHold) absent() bool { return s.heard && !s.granted && !s.doubt && s.repairs == 0 }
