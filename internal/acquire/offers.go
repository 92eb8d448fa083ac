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

// errGivenBack is the reason of a vote, for people to read.
var errGivenBack = errors.New("given back: others have the lock on a quorum of masters")

// offers are the attempts of a client that masters may grant by a release, by owner: those that
// stand in the masters' queues.
type offers struct {
	mu      sync.Mutex // held over no call
	byOwner map[string]*attempt
}

// add notes an attempt before its requests leave, if it makes offers: a notice may come before the
// answer.
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

// forget is the end of add. What comes later is for the hold, or of no use.
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

// offer returns the place with what a release may grant. A client that stands in line for slots
// takes the first that it is granted, and would have to give back the others. Where a renewal takes
// long, a short lease would be over before.
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

// stand leaves an attempt that failed in the masters' queues, where a notice is a vote for it, and
// reports whether it may yet be won: by the releases of those who have the lock on a quorum of
// masters. One that was granted something gives it back: where votes are split, nobody gets the
// lock else. So does one to which that happens later, unless it makes a quorum.
func (a *attempt) stand(err error) bool {
	if a.in.Takes == 0 || !errors.Is(err, ask.ErrHeld) || !refusedByQuorum(err) {
		return false
	}
	a.stands = a.asked.Queue(func(i int, v script.Vote) script.Vote {
		if v.Answer != script.Granted || v.Given || v.MayArrive || a.asked.Grants()+1 >= a.asked.Need {
			return v
		}
		a.h.Undo(i, a.in)
		return script.Vote{Answered: true, Answer: script.Refused, Err: errGivenBack, Got: v.Got}
	})
	return a.stands
}

// resume goes on with an attempt that stood in the masters' queues, and was granted by a quorum.
func (a *attempt) resume() {
	a.stands, a.start = false, a.client.Now()
	a.deadline = a.start.Add(a.client.RequestTimeout)
	a.asked.Resume()
}

// drop gives up an attempt that stands in the masters' queues, if it does, by one who has this
// place.
func (a *attempt) drop(in lease.Place) {
	if a.stands {
		a.cancel(in)
	}
}

// given is told that a release granted the lock of a name to an owner on a master.
func (c *Client) given(master int, name, owner string, grant int64) {
	a := c.offers.of(owner)
	switch {
	case a == nil:
		if h := c.Holds.Of(name, owner); h != nil {
			h.GivenLate(master, grant)
		}
	case a.h.Name == name:
		a.asked.Answer(master, a.h.GivenVote(grant))
		c.queues.Notice(name, master, c.notices.Quorum(), func() {})
	}
}
