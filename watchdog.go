package redlock

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/planted"
	"github.com/redlock-go/redlock/internal/script"
)

const (
	// renewals is how often a lease is renewed within its ttl.
	renewals = 3

	// renewRetries is how often within a ttl a renewal that brought no quorum is
	// tried again.
	renewRetries = 12

	// suspendInterval is how often suspendCheck looks whether the clock ran on
	// while Go's timers stood still, as they do while the machine is suspended.
	suspendInterval = 250 * time.Millisecond
)

var (
	errClockJumped = errors.New("its clock jumped: the vote does not count in this round")
	errRepaired    = errors.New("the lock was written back: the vote counts from the next round on")
)

// tick is what the hold's timer calls: it ends a hold whose lease has run out,
// and renews one that is due. The timer never waits for a master.
func (h *hold) tick() {
	now := h.client.now()
	h.mu.Lock()
	if h.ended != nil {
		h.mu.Unlock()
		return
	}
	if !now.Before(h.validUntil()) {
		h.mu.Unlock()
		h.end(ErrExpired)
		return
	}
	due := h.renews() && !now.Before(h.renewAt)
	ttl := h.terms.ttl
	first := h.renewal == nil
	if due {
		h.renewAt = now.Add(ttl / renewRetries) // unless this round succeeds
	}
	h.timer.Reset(h.untilNextTick(now))
	h.mu.Unlock()
	switch {
	case !due || !planted.Bug.Renews(first):
	case h.set != nil:
		h.set.renew(now, ttl)
	default:
		h.renew(ttl)
	}
}

// untilNextTick is how long the timer may sleep. The caller holds mu.
func (h *hold) untilNextTick(now clock.Instant) time.Duration {
	next := h.validUntil()
	if h.renews() {
		next = min(next, h.renewAt)
	}
	return next.Sub(now)
}

// renewNow makes a renewal due.
func (h *hold) renewNow() {
	now := h.client.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended == nil {
		h.renewAt = min(h.renewAt, now)
		h.timer.Reset(h.untilNextTick(now))
	}
}

// renew starts a renewal. Its requests take the places of those of the renewal before
// that are still in the masters' queues. So a queue that is long has the requests of one
// renewal, not of all, and their turn comes.
func (h *hold) renew(ttl time.Duration) {
	r := h.extension(h.client.members.View(), ttl)
	h.mu.Lock()
	before := h.renewal
	h.renewal = r
	h.mu.Unlock()
	if before == nil {
		r.ask(h.client)
	} else {
		r.askInstead(h.client, before)
	}
}

// membersChanged renews the hold at once if the members changed in the middle of its last
// renewal.
func (h *hold) membersChanged() {
	h.mu.Lock()
	again := h.ended == nil && h.renews() && h.renewal != nil && !h.renewal.won()
	ttl := h.terms.ttl
	h.mu.Unlock()
	if again {
		h.renew(ttl)
	}
}

// extend asks all masters to extend the lease.
func (h *hold) extend(v *membership.View, ttl time.Duration) *round {
	r := h.extension(v, ttl)
	r.ask(h.client)
	return r
}

// extension returns a round that is to ask all masters to extend the lease. What has
// not left when the hold ends never will. A master that did not have the lock the last
// time is sent a repair instead, which writes it back: as long as a quorum renews without
// it, a lock survives any number of masters losing it one after the other.
func (h *hold) extension(v *membership.View, ttl time.Duration) *round {
	c := h.client
	t := h.termsAt(v, ttl)
	start := c.now()
	r := newRound(v)
	r.during = h
	var repairs [maxMasters]bool
	r.weigh = func(i int, vote script.Vote) script.Vote { return h.weigh(i, vote, t, v, repairs[i]) }
	r.onVerdict = func(verdict) {
		switch votes := r.tally(); {
		case decide(votes, r.need) == won:
			h.renewed(t, start)
		case disowned(votes, r.quorum):
			h.end(ErrLost)
		default:
			h.tellRenewalFailed(v, votes)
		}
	}
	requests := r.requests(len(c.masters))
	extending := h.extendCall(t)
	h.mu.Lock()
	h.longest = max(h.longest, t.keyTTL())
	valid := start.Before(h.validUntil())
	for i := range requests {
		requests[i] = master.Request{Order: h.name, Call: extending, Version: v.Version, To: r}
		if h.masters[i].lost && valid && v.Out[i] == nil {
			requests[i].Call = h.repairCall(t)
			h.masters[i].repairs++
			repairs[i] = true
		}
	}
	h.mu.Unlock()
	return r
}

// weigh takes one master's answer to an extend or a repair, and returns what
// counts of it.
func (h *hold) weigh(i int, v script.Vote, t terms, at *membership.View, repair bool) script.Vote {
	jumped := time.Duration(0)
	h.mu.Lock()
	s := &h.masters[i]
	if repair {
		s.repairs--
		s.doubt = s.doubt || v.Doubt || v.Answer == script.Unknown // it may be written back yet, or again: the release must leave a mark
	}
	switch {
	case v.NotMine():
		h.strike(s)
		s.lost, s.expiry = true, expiry{}
	case repair && v.Answer == script.Granted:
		// The vote counts from the next round on: in this one, the master may have
		// been another's between the last extend and the repair.
		s.granted, s.grant, s.lost = true, int64(h.token), false
		s.expiry = s.expiry.atLeast(expiryAfter(v.Sent, v.Got, t.keyTTL()))
		v = script.Vote{Heard: true, Answer: script.Refused, Err: errRepaired}
	case v.Answer == script.Unknown:
		s.expiry.hi = max(s.expiry.hi, v.Got.Add(t.keyTTL())) // it may have been extended, or written back
	case repair, !h.alive():
	case v.Answer == script.Granted:
		jumped = h.extendedAt(i, v, t, h.counts(at))
	}
	h.mu.Unlock()
	if jumped != 0 {
		h.tellJump(i, jumped)
		return script.Vote{Heard: true, Answer: script.Refused, Err: errClockJumped}
	}
	return v
}

// extendedAt counts the vote of a master that extended, unless its clock jumped
// since it did so the last time; it returns by how much. counts tells whether a vote at
// its version does. The caller holds mu.
func (h *hold) extendedAt(i int, v script.Vote, t terms, counts bool) (jumped time.Duration) {
	s := &h.masters[i]
	if s.granted {
		jumped = s.expiry.jump(v.Remaining, v.Sent, v.Got, t.drift)
	}
	s.granted = true
	s.expiry = expiryAfter(v.Sent, v.Got, max(v.Remaining, t.keyTTL()))
	if jumped == 0 && counts {
		s.until = max(s.until, t.validUntil(v.Sent))
	}
	return jumped
}

// renewed notes that a round that began at start brought a quorum.
func (h *hold) renewed(t terms, start clock.Instant) {
	now := h.client.now()
	h.mu.Lock()
	if h.ended != nil {
		h.mu.Unlock()
		return
	}
	h.renewAt = max(h.renewAt, start.Add(t.ttl/renewals))
	h.timer.Reset(h.untilNextTick(now))
	left := h.validUntil().Sub(now)
	h.mu.Unlock()
	h.tellRenewed(left)
}

// extended makes t the terms of the renewals to come.
func (h *hold) extended(t terms, now clock.Instant) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended != nil {
		return
	}
	h.terms = t
	h.renewAt = now.Add(t.ttl / renewals)
	h.timer.Reset(h.untilNextTick(now))
}
