package redlock

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// ForceUnlock takes a lock from the holder that an inspection shows, and moves its token
// on. In the same step it acquires the lock itself, so that nobody comes in between. It
// releases the lock at once, which calls the next waiter, and returns the token that it
// got. That token is above the token of each holder that it took the lock from, and below
// that of the next holder.
//
// It takes the lock from the acquisitions that shown.Quorum names: the holder, or the
// readers, or the one that left the lock to linger. If the quorum names none, it takes the
// lock from every acquisition in shown.Masters, because one of them may be a holder whose
// other masters do not answer. It takes the lock from nobody else: a holder that came after
// the inspection keeps it. If shown names nobody, only the token moves on.
//
// Nothing tells the holder at once. It learns of the loss, as ErrLost, at its next renewal. If
// it does not renew, or reaches no quorum, its hold ends with its lease. Until then its Valid
// is true and it works on, while the next holder works too. So from here on exclusion depends
// on the token alone: on stores that refuse lower tokens. A store does that once it has seen a
// higher token, so give it the token that ForceUnlock returns. A reader has no token, and
// nothing refuses what it reads.
//
// The holder cannot get the lock back: on each master that answered, its requests are refused
// for longer than its lease can last. ForceUnlock takes at most the request timeout, and as long
// again for the release.
//
// Errors: bad input; ctx's error and cause; ErrClosed. A *QuorumError with Op "force unlock" if
// too few masters answered: then the holder that was shown may still hold the lock, on some
// masters or on all, and renew it. On masters where the lock was taken, others may get it
// meanwhile. So exclusion depends on the token alone until a ForceUnlock succeeds or the holder
// is done. A *QuorumError with another Op says that the holders that were shown no longer hold
// the lock, but that no token is known to be above theirs. With ErrHeld another holder has the
// lock, and its token is above theirs. A token together with an error means that the release did
// not reach a quorum.
func (c *Client) ForceUnlock(ctx context.Context, shown Inspection) (fence.Token, error) {
	c.check(ctx)
	if err := validateName(shown.Name); err != nil {
		return 0, err
	}
	if err := c.enter(ctx); err != nil {
		return 0, err
	}
	defer c.calls.Done()
	deadline := c.now().Add(c.requestTimeout)
	cfg := lockConfig{ttl: c.config.lock.ttl}
	if err := c.mayAsk(ctx, opForceUnlock, shown.Name, &cfg); err != nil {
		return 0, err
	}
	var lock *Lock
	err := c.whileMembersChange(ctx, deadline, func(v *membership.View) (err error) {
		for pause := splitPause; ; pause *= 2 {
			lock, err = c.takeOver(ctx, v, shown, cfg, deadline)
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

// taken is an acquisition that ForceUnlock takes the lock from.
type taken struct {
	owner  string
	stored string // what the value of its lock begins with
}

// taken are the acquisitions that ForceUnlock takes the lock from.
func (in Inspection) taken() []taken {
	views := []LockView{in.Quorum}
	if in.Quorum.State == LockUnknown {
		for _, m := range in.Masters {
			views = append(views, m.LockView)
		}
	}
	var all []taken
	for _, v := range views {
		if v.Owner != "" {
			all = append(all, taken{v.Owner, v.Owner}, taken{v.Owner, "- " + v.Owner}) // it may linger by now
		}
		for _, r := range v.Readers {
			all = append(all, taken{r.Owner, r.Owner})
		}
	}
	slices.SortFunc(all, func(a, b taken) int { return cmp.Compare(a.stored, b.stored) })
	return slices.Compact(all)
}

// takeOver is an attempt to which those that are shown are made to hand the lock over. On each
// master their releases leave together with the acquire right behind them, for which the lock
// is kept.
func (c *Client) takeOver(ctx context.Context, v *membership.View, shown Inspection, cfg lockConfig, deadline clock.Instant) (*Lock, error) {
	// Nobody hears this channel, so a place in a queue that is left behind is passed over. The
	// ticket goes before all others.
	channel, ticket := channelOf(c.prefix, newClientID()), waitqueue.TicketOf("1")
	a := c.prepare(v, shown.Name, cfg, nowhere)
	a.deadline = deadline
	a.call = a.h.AcquireCall(a.h.Terms(), lease.Place{Channel: &channel, Ticket: ticket})
	var out []*quorum.Round
	c.gather(func() {
		for _, t := range shown.taken() {
			out = append(out, c.putOut(v, shown.Name, t, &channel))
		}
		a.h.Send(&a.asked, a.call)
	})
	lock, err := c.conclude(ctx, a)
	c.leaveLine(a.h, &channel)
	for _, r := range out {
		if unheard := c.awaitOut(ctx, r, shown.Name, deadline); unheard != nil {
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
func (c *Client) putOut(v *membership.View, name string, t taken, channel *string) *quorum.Round {
	k := script.KeysOf(c.prefix, name, t.owner)
	mark := quorum.LingerTTL(v.Table.MaxLease(), c.driftOf(v)) + lease.GoneTTL
	noTicket := ""
	call := script.Undo.Call([]*string{&k.Lock, &k.Gone, &k.Queue, &k.Asked}, &t.stored, mark.Milliseconds(), channel, &noTicket)
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
