package acquire

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/identity"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/unwind"
)

// once is one attempt by a caller that does not wait, or does not stand in the masters' queues. It
// is made again when the members have changed meanwhile.
func (c *Client) once(ctx context.Context, name string, o Options, in lease.Place) (entry *lease.Entry, err error) {
	deadline := c.Deadline()
	if err := c.suit(ctx, ask.OpAcquire, name, &o); err != nil {
		return nil, err
	}
	err = c.atEachVersion(ctx, deadline, func(v *membership.View) (err error) {
		a := c.prepare(v, name, o, in)
		a.deadline = deadline
		a.h.Send(&a.asked, a.call)
		entry, err = c.conclude(ctx, a)
		return err
	})
	return entry, err
}

// atEachVersion makes an attempt, and another one at each version of the members that comes
// meanwhile. What the attempt before was granted may not be given back everywhere by then, so one
// that is refused for it is made again.
func (c *Client) atEachVersion(ctx context.Context, deadline clock.Instant, attempt func(*membership.View) error) error {
	first := true
	return c.WhileMembersChange(ctx, deadline, func(v *membership.View) error {
		for pause := splitPause; ; pause *= 2 {
			err := attempt(v)
			if first || !errors.Is(err, ask.ErrHeld) || deadline.Sub(c.Now()) < pause || c.Pause(ctx, pause) != nil {
				first = false
				return err
			}
		}
	})
}

// attempt is one attempt at a fresh acquisition. This is the algorithm; the numbers are those of
// docs/PROTOCOL.md.
type attempt struct {
	client   *Client
	h        lease.Acquisition
	observer Observer
	asked    quorum.Round
	call     script.Call
	in       lease.Place
	inSet    bool // it is one of several

	start, deadline clock.Instant

	// Of one that stands in the masters' queues.
	asker  *waiter // who asked
	stands bool    // it was refused, and masters may grant it by their releases; only the asker looks at it
}

// prepare does what comes before the first request: 1. one owner for each fresh acquisition, and
// the same question for all masters, to be sent to them at once.
func (c *Client) prepare(v *membership.View, name string, o Options, in lease.Place) *attempt {
	h := c.Holds.New(v, name, identity.NewOwner(c.ID), o.hold(c.Drift(v)))
	a := &attempt{client: c, h: h, observer: o.Observer, in: c.offer(v, h, o, in), inSet: o.set != nil, start: c.Now()}
	h.Seen = c.seen[script.BucketOf(name)].Load()
	a.call = h.AcquireCall(h.Terms(), a.in)
	a.deadline = a.start.Add(c.RequestTimeout)
	a.asked.Init(v)
	a.asked.During = h
	return a
}

// conclude awaits the votes, and makes a hold of them or gives up.
func (c *Client) conclude(ctx context.Context, a *attempt) (*lease.Entry, error) {
	h, v := a.h, a.asked.View
	a.observer.Attempted()

	// 2. Decide as soon as it is certain. Stragglers are not waited for, and not
	// forgotten either: Receive, in begin and cancel, gives them a receiver.
	err := c.Await(ctx, &a.asked, a.deadline)
	var room [5]script.Vote
	votes := a.asked.Votes(room[:]...)
	if err != nil {
		err = ask.NotWaited(err, v, ask.OpAcquire, h.Name, votes)
	} else if quorum.Decide(votes, a.asked.Need) != quorum.Won {
		err = ask.NotGranted(v, ask.OpAcquire, h.Name, votes)
	}

	// 3. The token: the highest grant number, once a quorum stands at it. A reader gets no
	// token; it learns the highest counter, which counts by the same rule.
	var standing []script.Vote
	if err == nil {
		standing, err = a.confirm(ctx, votes)
	}

	// 4. Valid until a quorum of the votes that stand at the token is: each counts
	// from before it was sent.
	if err == nil && !h.Count(votes, standing) {
		err = ask.FailureOf(v, ask.OpAcquire, h.Name, ErrTooSlow, votes)
	}

	// 5. Failed: give back whatever was granted, and whatever may have been. The
	// caller does not wait for it, and its context does not stop it.
	if err != nil {
		switch gone := ctx.Err() != nil || c.Closed.Err() != nil; {
		case gone:
			a.cancel(nowhere)
		case !a.stand(err):
			a.cancel(a.in)
		}
		unwind.OrElse(func() { a.observer.Failed(h.Name, a.start, err) }, func() { a.drop(nowhere) })
		return nil, err
	}
	defer c.offers.forget(a) // by then the hold is there to be told
	return a.begin(ctx), nil
}

// begin tells of the acquisition, and makes a hold of it. If the observer does not return, the hold
// begins all the same, and is given back at once: so its end is told too. A set gives back all its
// holds itself.
func (a *attempt) begin(ctx context.Context) *lease.Entry {
	seen, token := &a.client.seen[script.BucketOf(a.h.Name)], uint64(a.h.Last)
	for old := seen.Load(); old < token && !seen.CompareAndSwap(old, token); old = seen.Load() {
	}
	unwind.OrElse(func() { a.observer.Acquired(a.h.Hold, a.start, &a.asked) }, func() {
		entry := a.h.Begin(ctx, &a.asked)
		if !a.inSet {
			entry.Discard()
		}
	})
	return a.h.Begin(ctx, &a.asked)
}

// confirm makes the token of the votes, and a quorum of masters stand at it. Usually a quorum does
// from the start. Otherwise confirm asks each master that granted a lower number to raise its
// counter, if its grant still stands. It returns the votes of the masters that stand at the token.
func (a *attempt) confirm(ctx context.Context, votes []script.Vote) (standing []script.Vote, err error) {
	standing, asked := a.askToConfirm(votes)
	if asked == nil {
		return standing, nil
	}
	return a.confirmed(ctx, asked, votes)
}

// askToConfirm is the first half of confirm. When no quorum stands at the token, it asks the
// masters and returns the round.
func (a *attempt) askToConfirm(votes []script.Vote) (standing []script.Vote, asked *quorum.Round) {
	h, v := a.h, a.asked.View
	h.Last = quorum.HighestGrant(votes)
	if !h.Reads.Load() {
		h.Token = h.Last
	}
	if quorum.LowestGrant(votes) == h.Last {
		return votes, nil // all that granted stand at it
	}
	ballot := quorum.Standings(votes, h.Last)
	r := quorum.NewBallot(ballot, v)
	if r.Won() {
		return ballot, nil
	}
	for i, vote := range votes {
		if vote.Answer == script.Granted && vote.Grant < int64(h.Last) {
			a.client.Masters[i].Submit(&master.Request{Order: h.Name, Call: h.ConfirmCall(vote.Grant), Version: v.Version, To: r, First: true})
		}
	}
	return nil, r
}

// confirmed is the second half of confirm. If no quorum will stand at the token, it waits for
// another master to grant, and makes the token again with that vote. (A master may refuse to
// confirm what it has granted: its memory is full by now.) It does the same when a master is
// silent, with those that have granted meanwhile.
func (a *attempt) confirmed(ctx context.Context, asked *quorum.Round, votes []script.Vote) (standing []script.Vote, err error) {
	c := a.client
	for asked != nil {
		patience := a.confirmUntil(c.Now())
		left := c.Await(ctx, asked, patience)
		standing = asked.Votes()
		a.dropLost(standing, votes)
		is := quorum.Decide(standing, asked.Need)
		if left == nil && is == quorum.Won {
			return standing, nil
		}
		now, more := c.Now(), false
		silent := is == quorum.Undecided && !now.Before(patience) && now.Before(a.deadline)
		switch {
		case left != nil:
		case silent:
			more, left = a.moreGrants(ctx, votes, now)
		case is == quorum.Lost:
			more, left = a.moreGrants(ctx, votes, a.deadline)
		}
		switch {
		case left != nil:
			return standing, ask.NotWaited(left, asked.View, ask.OpAcquire, a.h.Name, votes)
		case more:
			standing, asked = a.askToConfirm(votes)
		case !silent:
			return standing, ask.FailureOf(asked.View, ask.OpAcquire, a.h.Name, ask.ErrNoQuorum, standing)
		}
	}
	return standing, nil
}

// confirmUntil is how long the masters that were asked to confirm are waited for, before others
// that have granted meanwhile are asked as well: a quarter of the time that is left.
func (a *attempt) confirmUntil(now clock.Instant) clock.Instant {
	left := a.deadline.Sub(now)
	if left < 10*time.Millisecond {
		return a.deadline
	}
	return now.Add(left / 4)
}

// dropLost takes back the votes of masters that had nothing to confirm: the grant is gone. The
// acquire is not: a second copy of it may have been granted again, or may be yet.
func (a *attempt) dropLost(standing, votes []script.Vote) {
	for i, vote := range standing {
		if vote.Answered && vote.Err == script.ErrNotMine {
			vote.MayArrive = true
			votes[i] = vote
			a.asked.Replace(i, vote)
		}
	}
}

// moreGrants waits until one more master grants than in votes, and a quorum does: votes may have
// been taken back. It brings votes up to date, and reports whether they have, or why the caller
// left.
func (a *attempt) moreGrants(ctx context.Context, votes []script.Vote, until clock.Instant) (more bool, left error) {
	a.asked.Reopen(quorum.Granted(votes) + 1)
	left = a.client.Await(ctx, &a.asked, until)
	copy(votes, a.asked.Votes())
	return left == nil && a.asked.Won(), left
}

// cancel gives back an acquisition that failed. It releases what was granted. It also releases what
// may have been granted, with a mark that keeps a late acquire out. A caller that waits on keeps
// its place in the queues, and takes a place on masters that it has not asked yet.
func (a *attempt) cancel(in lease.Place) {
	c, h, terms := a.client, a.h, a.h.Terms()
	a.stands = false
	undo := func(i int, v script.Vote) script.Vote {
		c.learnTime(i, v)
		h.Take(i, lease.ToAcquire, v, terms, a.asked.View)
		if h.MayUndo(i) {
			h.Undo(i, in.Kept())
		}
		return v
	}
	a.asked.Receive(!in.Waits(), undo)
	c.offers.forget(a)
}
