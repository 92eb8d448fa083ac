package acquire

import (
	"errors"
	"sync"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// errGivenBack is the reason of a vote that was undone, for messages.
var errGivenBack = errors.New("given back: others have the lock on a quorum of masters")

// offers has the client's attempts, by owner, that made offers: releases may grant them the lock.
type offers struct {
	mu      sync.Mutex // not held over calls
	byOwner map[string]*attempt
}

// add registers an attempt that makes offers. Call it before the requests are sent, because the
// notice of a grant may come before the reply.
func (o *offers) add(a *attempt) {
	if a.in.Takes == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byOwner == nil {
		o.byOwner = make(map[string]*attempt)
	}
	o.byOwner[a.h.ID] = a
}

// forget removes an attempt. If the attempt became a hold, later grants go to this hold.
func (o *offers) forget(a *attempt) {
	if a.in.Takes == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byOwner, a.h.ID)
}

// of returns the attempt of an owner, or nil.
func (o *offers) of(owner string) *attempt {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byOwner[owner]
}

// offer returns the place, and adds an offer to it unless the attempt must not make offers. A
// caller that waits for slots must not: it takes the first slot, and would have to give back the
// others. A client far from the masters must not: a short lease could end before the first renewal.
func (c *Client) offer(v *membership.View, h lease.Acquisition, o Options, in lease.Place) lease.Place {
	if !in.Waits() || !in.Ticket.Known() || o.Slots > 0 {
		return in
	}
	offered := h.Offer(in)
	near := 0
	for _, m := range c.Masters {
		if m.Trip() <= offered.Takes/lease.RenewRetries {
			near++
		}
	}
	if near < quorum.MajorityOf(v).Need {
		return in
	}
	return offered
}

// enqueue leaves a failed attempt in the masters' queues. Then each grant by a release is a vote for
// the attempt. enqueue reports false, and does nothing, if no quorum can grant the lock by releases,
// or if a master has granted the acquire. A late grant in reply to the acquire is undone, unless it
// completes a quorum, or a copy of the acquire may still be executed. Without the undo, waiters with a
// few grants each would block each other.
func (a *attempt) enqueue(err error) bool {
	if a.in.Takes == 0 || !errors.Is(err, ask.ErrHeld) || !refusedByQuorum(err) {
		return false
	}
	a.queued = a.asked.Queue(func(i int, v script.Vote) script.Vote {
		if v.Answer != script.Granted || v.Given || v.MayArrive || a.asked.Grants()+1 >= a.asked.Need {
			return v
		}
		a.h.Undo(i, a.in)
		return script.Vote{Answered: true, Answer: script.Refused, Err: errGivenBack, Got: v.Got}
	})
	return a.queued
}

// resume prepares a queued attempt for another call of conclude, after a quorum has granted the lock.
func (a *attempt) resume() {
	a.queued, a.start = false, a.client.Now()
	a.deadline = a.start.Add(a.client.RequestTimeout)
	a.asked.Resume()
}

// drop cancels the attempt if it is queued. The argument is the place for cancel.
func (a *attempt) drop(in lease.Place) {
	if a.queued {
		a.cancel(in)
	}
}

// given counts a grant that a master made at a release as a vote for the owner's attempt or hold.
func (c *Client) given(master int, name, owner string, grant int64) {
	a := c.offers.of(owner)
	switch {
	case a == nil:
		if h := c.Holds.Of(name, owner); h != nil {
			h.GivenLate(master, grant)
		}
	case a.h.Name == name:
		a.asked.Answer(master, a.h.GivenVote(grant))
		c.queues.Notice(name, master, c.notices.Reach().Calls, c.Now(), func() {})
	}
}
