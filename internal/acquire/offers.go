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

// errGivenBack is the reason of an undone vote, for messages.
var errGivenBack = errors.New("given back: others have the lock on a quorum of masters")

// offers has, by owner, the attempts of a client that masters may grant by a release.
type offers struct {
	mu      sync.Mutex // not held over calls
	byOwner map[string]*attempt
}

// add registers an attempt that makes offers. Call it before the requests are sent: a notice may
// come before the reply.
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

// forget removes an attempt. Later grants go to the hold of the attempt, if it has one.
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

// offer returns the place with an offer for releases, if the attempt may make an offer. A caller that
// waits for slots makes no offer: it takes the first slot, and would have to give back the others. A
// client far from the masters makes no offer: a short lease could end before the first renewal.
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

// enqueue leaves a failed attempt in the masters' queues, where each grant by a release is a vote for the attempt.
// It reports false if no quorum of such grants is possible, or a master has granted. A late grant in reply to the
// acquire is undone unless it completes a quorum: if votes stayed split, no waiter would get the lock.
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

// resume prepares another conclude of a queued attempt, after a quorum has granted it.
func (a *attempt) resume() {
	a.queued, a.start = false, a.client.Now()
	a.deadline = a.start.Add(a.client.RequestTimeout)
	a.asked.Resume()
}

// drop cancels the attempt if it is queued. in is the waiter's place from then on.
func (a *attempt) drop(in lease.Place) {
	if a.queued {
		a.cancel(in)
	}
}

// given counts the grant by a release on a master, as a vote for the attempt or the hold of the owner.
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
