package redlock

import (
	"context"
	"errors"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// forceUnlock takes the lock of that name from these acquisitions, and from nobody else, and moves its token on. In the
// same step it acquires the lock itself, so that nobody comes in between, and releases it at once. It returns the token
// that it got: see admin.ForceUnlock.
func (c *Client) forceUnlock(ctx context.Context, name string, from []core.Acquisition) (fence.Token, error) {
	deadline := c.now().Add(c.requestTimeout)
	cfg := lockConfig{ttl: c.config.lock.ttl}
	if err := c.mayAsk(ctx, opForceUnlock, name, &cfg); err != nil {
		return 0, err
	}
	var lock *Lock
	err := c.whileMembersChange(ctx, deadline, func(v *membership.View) (err error) {
		for pause := splitPause; ; pause *= 2 {
			lock, err = c.takeOver(ctx, v, name, from, cfg, deadline)
			if !errors.Is(err, ErrHeld) || refusedByQuorum(err) || deadline.Sub(c.now()) < pause || c.pause(ctx, pause) != nil {
				return err
			}
		}
	})
	if err != nil {
		return 0, err
	}
	return lock.Token(), lock.Unlock(ctx)
}

// takeOver is an attempt to which those acquisitions are made to hand the lock over. On each
// master their releases leave together with the acquire right behind them, for which the lock
// is kept.
func (c *Client) takeOver(ctx context.Context, v *membership.View, name string, from []core.Acquisition, cfg lockConfig, deadline clock.Instant) (*Lock, error) {
	// Nobody hears this channel, so a place in a queue that is left behind is passed over. The
	// ticket goes before all others.
	channel, ticket := identity.Channel(c.prefix, identity.NewClient()), waitqueue.TicketOf("1")
	a := c.prepare(v, name, cfg, nowhere)
	a.deadline = deadline
	a.call = a.h.AcquireCall(a.h.Terms(), lease.Place{Channel: &channel, Ticket: ticket})
	var out []*quorum.Round
	c.gather(func() {
		for _, t := range from {
			out = append(out, c.putOut(v, name, t, &channel))
		}
		a.h.Send(&a.asked, a.call)
	})
	lock, err := c.conclude(ctx, a)
	c.leaveLine(a.h, &channel)
	for _, r := range out {
		if unheard := c.awaitOut(ctx, r, name, deadline); unheard != nil {
			if lock != nil { // it was free there, and the mark was not left
				lock.giveBack()
			}
			return nil, unheard
		}
	}
	return lock, err
}

// leaveLine takes the channel out of the queues of the masters that refused.
func (c *Client) leaveLine(h *lease.Hold, channel *string) {
	leaving := script.Leave.Call([]*string{&h.Keys.Lock, &h.Keys.Queue, &h.Keys.Asked}, channel)
	for i, m := range c.masters {
		if !h.Master(i).Granted {
			m.Submit(&master.Request{Order: h.Name, Call: leaving, To: quorum.Nobody{}})
		}
	}
}

// putOut asks all masters to release a lock, and to refuse its owner from then on, for as long
// as its lease may last and a request of it may be under way. Without that, the owner's
// repair would write the lock back on masters that do not have it.
func (c *Client) putOut(v *membership.View, name string, t core.Acquisition, channel *string) *quorum.Round {
	k := script.KeysOf(c.prefix, name, t.Owner)
	mark := quorum.LingerTTL(v.Table.MaxLease(), c.driftOf(v)) + lease.GoneTTL
	noTicket := ""
	call := script.Undo.Call([]*string{&k.Lock, &k.Gone, &k.Queue, &k.Asked}, &t.Stored, mark.Milliseconds(), channel, &noTicket)
	r := quorum.NewRound(v)
	r.Weigher = quorum.WeighFunc(func(_ int, v script.Vote) script.Vote {
		if v.NotMine() { // it is not there, and cannot come any more
			v.Answer, v.Err = script.Granted, nil
		}
		return v
	})
	requests := r.Requests(len(c.masters))
	for i := range requests {
		requests[i] = master.Request{Order: name, Call: call, To: r}
	}
	r.Ask(c.masters)
	return r
}

// awaitOut waits until a quorum of masters has put an owner out.
func (c *Client) awaitOut(ctx context.Context, r *quorum.Round, name string, deadline clock.Instant) error {
	if err := c.await(ctx, r, deadline); err != nil {
		return err
	}
	if r.Won() {
		return nil
	}
	return &QuorumError{Op: opForceUnlock, Name: name, Reason: ErrNoQuorum, Need: r.Need, Votes: c.publish(r.Tally()), Lacks: r.View.Lacks}
}
