package acquire

import (
	"context"
	"errors"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Acquisition is an acquisition from which TakeOver takes the lock.
type Acquisition struct {
	Owner  string
	Stored string // the beginning of the lock's value on the masters
}

// TakeOver takes the lock of a name from these acquisitions, and from no other. In the same step
// it acquires the lock with a higher token, so that no other owner gets the lock in between.
func (c *Client) TakeOver(ctx context.Context, name string, from []Acquisition, o Options) (entry *lease.Entry, err error) {
	deadline := c.Deadline()
	if err := c.suit(ctx, ask.OpForceUnlock, name, &o); err != nil {
		return nil, err
	}
	err = c.WhileMembersChange(ctx, deadline, func(v *membership.View) (err error) {
		for pause := splitPause; ; pause *= 2 {
			entry, err = c.takeOver(ctx, v, name, from, o, deadline)
			if !errors.Is(err, ask.ErrHeld) || refusedByQuorum(err) || deadline.Sub(c.Now()) < pause || c.Pause(ctx, pause) != nil {
				return err
			}
		}
	})
	return entry, err
}

// takeOver releases these acquisitions, and makes one attempt to acquire. Each master gets the
// releases and then the acquire in one batch. The releases keep the lock for the acquire.
func (c *Client) takeOver(ctx context.Context, v *membership.View, name string, from []Acquisition, o Options, deadline clock.Instant) (*lease.Entry, error) {
	// No client is subscribed to this channel, so masters skip the channel if it is left in a
	// queue. The ticket is lower than all others.
	channel, ticket := identity.Channel(c.Prefix, identity.NewClient()), waitqueue.TicketOf(script.FirstTicket)
	a := c.prepare(v, name, o, nowhere)
	a.deadline = deadline
	a.call = a.h.AcquireCall(a.h.Terms(), lease.Place{Channel: &channel, Ticket: ticket})
	var out []*quorum.Round
	c.Gather(func() {
		for _, t := range from {
			out = append(out, c.releaseOther(v, name, t, o.Drift, &channel))
		}
		a.h.Send(&a.asked, a.call)
	})
	entry, err := c.conclude(ctx, a)
	c.leaveQueue(a.h.Hold, &channel)
	for _, r := range out {
		if err := c.awaitReleased(ctx, r, name, deadline); err != nil {
			if entry != nil { // the lock was granted, but the gone mark of t is not on a quorum
				entry.Discard()
			}
			return nil, err
		}
	}
	return entry, err
}

// leaveQueue removes the channel from the queues of the masters that did not grant.
func (c *Client) leaveQueue(h *lease.Hold, channel *string) {
	for i, m := range c.Masters {
		if !h.Master(i).Granted {
			m.Submit(c.leaveRequest(h.Name, channel))
		}
	}
}

// releaseOther asks all masters to release a lock, and to refuse its owner until the owner's lease
// has ended and none of the owner's requests can be under way. Without this refusal, a repair of
// the owner could write the lock back on masters that do not have it.
func (c *Client) releaseOther(v *membership.View, name string, t Acquisition, drift float64, channel *string) *quorum.Round {
	k := script.KeysOf(c.Prefix, name, t.Owner)
	mark := quorum.LingerTTL(v.Table.MaxLease(), drift) + lease.GoneTTL
	noTicket := ""
	call := script.Undo.Call(&k, &t.Stored, mark.Milliseconds(), channel, &noTicket)
	r := quorum.NewRound(v)
	r.Weigher = quorum.WeighFunc(func(_ int, v script.Vote) script.Vote {
		if v.NotMine() { // the master does not have the owner's lock, and cannot get it any more
			v.Answer, v.Err = script.Granted, nil
		}
		return v
	})
	requests := r.Requests(len(c.Masters))
	for i := range requests {
		requests[i] = master.Request{Order: name, Call: call, To: r}
	}
	r.Ask(c.Masters)
	return r
}

// awaitReleased waits until a quorum of masters has released an owner's lock and marked the owner gone.
func (c *Client) awaitReleased(ctx context.Context, r *quorum.Round, name string, deadline clock.Instant) error {
	if err := c.Await(ctx, r, deadline); err != nil {
		return err
	}
	if r.Won() {
		return nil
	}
	return ask.FailureOf(r.View, ask.OpForceUnlock, name, ask.ErrNoQuorum, r.Votes())
}
