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

// once makes one attempt, for a caller that does not wait or has no place in the masters' queues.
// It repeats the attempt if the members have changed meanwhile.
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

// atEachVersion makes an attempt, and one more after each change of the members. Masters may refuse
// a later attempt merely because they still have the grants of an earlier attempt. So atEachVersion
// repeats a refused later attempt after a pause.
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

// attempt is one attempt at a fresh acquisition. Its methods implement "Acquisition" in
// docs/PROTOCOL.md. The comments have the step numbers of that section.
type attempt struct {
	client   *Client
	h        lease.Acquisition
	observer Observer
	asked    quorum.Round
	call     script.Call
	in       lease.Place
	inSet    bool // part of an attempt at several names

	start, deadline clock.Instant

	// For an attempt in the masters' queues.
	asker  *waiter // the waiter that made it
	queued bool    // the attempt was refused, but releases may still grant it; read by the asker only
}

// prepare returns an attempt that is ready to be sent (step 1). Each fresh acquisition has an owner
// of its own. All masters get the same request, at the same time.
func (c *Client) prepare(v *membership.View, name string, o Options, in lease.Place) *attempt {
	var set *lease.Set
	if o.set != nil {
		set = o.set.Set
	}
	h := c.Holds.New(v, name, identity.NewOwner(c.ID), o.Config, set, o.Observer)
	a := &attempt{client: c, h: h, observer: o.Observer, in: c.offer(v, h, o, in), inSet: set != nil, start: c.Now()}
	h.Seen = c.seen[script.BucketOf(name)].Load()
	a.call = h.AcquireCall(h.Terms(), a.in)
	a.deadline = a.start.Add(c.RequestTimeout)
	a.asked.Init(v)
	a.asked.During = h
	return a
}

// conclude waits for the votes. Then it begins the hold, or gives up and returns an error.
func (c *Client) conclude(ctx context.Context, a *attempt) (*lease.Entry, error) {
	h, v := a.h, a.asked.View
	a.observer.Attempted()

	// 2. Decide as soon as the verdict is certain. Then begin or cancel sets the receiver
	// of later answers (Receive).
	err := c.Await(ctx, &a.asked, a.deadline)
	var room [5]script.Vote
	votes := a.asked.Votes(room[:]...)
	if err != nil {
		err = ask.NotWaited(err, v, ask.OpAcquire, h.Name, votes)
	} else if quorum.Decide(votes, a.asked.Need) != quorum.Won {
		err = ask.NotGranted(v, ask.OpAcquire, h.Name, votes)
	}

	// 3. Make the token: it is the highest grant number, and is valid once a quorum stands at it. A
	// reader gets no token, but a quorum must stand at the highest counter in the same way.
	var atToken []script.Vote
	if err == nil {
		atToken, err = a.confirm(ctx, votes)
	}

	// 4. The lease is valid while a quorum of the votes that stand at the token counts. The time
	// for which a vote counts begins just before its request is sent.
	if err == nil && !h.Count(votes, atToken) {
		err = ask.FailureOf(v, ask.OpAcquire, h.Name, ErrTooSlow, votes)
	}

	// 5. Failed: undo every grant, and every possible grant. The caller does not wait for the
	// undo, and the caller's context does not stop the undo.
	if err != nil {
		switch gone := ctx.Err() != nil || c.Closed.Err() != nil; {
		case gone:
			a.cancel(nowhere)
		case !a.enqueue(err):
			a.cancel(a.in)
		}
		unwind.OrElse(func() { a.observer.Failed(h.Name, a.start, err) }, func() { a.drop(nowhere) })
		return nil, err
	}
	defer c.offers.forget(a) // after begin: from then on late grants go to the hold
	return a.begin(ctx), nil
}

// begin reports the acquisition to the observer, and begins the hold. If the observer does not
// return, begin releases the hold at once, so that the end of the hold is reported too. A set
// releases its holds itself.
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

// confirm sets the token to the highest grant number of the votes, and returns the votes that stand
// at the token. If these are no quorum, confirm first asks the other granting masters to raise their
// counters to the token. A master raises its counter only if it still has the grant.
func (a *attempt) confirm(ctx context.Context, votes []script.Vote) (atToken []script.Vote, err error) {
	atToken, asked := a.askToConfirm(votes)
	if asked == nil {
		return atToken, nil
	}
	return a.confirmed(ctx, asked, votes)
}

// askToConfirm sets the token. If no quorum stands at the token, askToConfirm asks the masters that
// granted lower numbers to confirm the token, and returns the round that asks them.
func (a *attempt) askToConfirm(votes []script.Vote) (atToken []script.Vote, asked *quorum.Round) {
	h, v := a.h, a.asked.View
	h.Last = quorum.HighestGrant(votes)
	if !h.Reads.Load() {
		h.Token = h.Last
	}
	if quorum.LowestGrant(votes) == h.Last {
		return votes, nil // each grant has this number
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

// confirmed waits for the round of askToConfirm. If no quorum can stand at the token, it waits
// until one more master grants, and makes the token again with that vote. (A master may refuse to
// confirm its own grant, for example because its memory is full by now.) If a master stays silent,
// confirmed makes the token again with the grants that have come meanwhile.
func (a *attempt) confirmed(ctx context.Context, asked *quorum.Round, votes []script.Vote) (atToken []script.Vote, err error) {
	c := a.client
	for asked != nil {
		until := a.confirmUntil(c.Now())
		left := c.Await(ctx, asked, until)
		atToken = asked.Votes()
		a.dropLost(atToken, votes)
		is := quorum.Decide(atToken, asked.Need)
		if left == nil && is == quorum.Won {
			return atToken, nil
		}
		now, more := c.Now(), false
		silent := is == quorum.Undecided && !now.Before(until) && now.Before(a.deadline)
		switch {
		case left != nil:
		case silent:
			more, left = a.moreGrants(ctx, votes, now)
		case is == quorum.Lost:
			more, left = a.moreGrants(ctx, votes, a.deadline)
		}
		switch {
		case left != nil:
			return atToken, ask.NotWaited(left, asked.View, ask.OpAcquire, a.h.Name, votes)
		case more:
			atToken, asked = a.askToConfirm(votes)
		case !silent:
			return atToken, ask.FailureOf(asked.View, ask.OpAcquire, a.h.Name, ask.ErrNoQuorum, atToken)
		}
	}
	return atToken, nil
}

// confirmUntil returns the time at which a confirm stops waiting for silent masters, and uses later
// grants instead. This is after a quarter of the time that the attempt has left.
func (a *attempt) confirmUntil(now clock.Instant) clock.Instant {
	left := a.deadline.Sub(now)
	if left < 10*time.Millisecond {
		return a.deadline
	}
	return now.Add(left / 4)
}

// dropLost withdraws the vote of each master whose answer to the confirm shows that the grant is lost. Since then, such
// a master may have granted a second copy of the acquire, or may still grant it.
func (a *attempt) dropLost(atToken, votes []script.Vote) {
	for i, vote := range atToken {
		if vote.Answered && vote.Err == script.ErrNotMine {
			vote.MayArrive = true
			votes[i] = vote
			a.asked.Replace(i, vote)
		}
	}
}

// moreGrants waits until there is a quorum of grants, and at least one grant more than in votes.
// (dropLost may have withdrawn grants.) Then it updates votes. It reports whether enough masters
// granted, or returns why the caller must leave.
func (a *attempt) moreGrants(ctx context.Context, votes []script.Vote, until clock.Instant) (more bool, left error) {
	a.asked.Reopen(quorum.Granted(votes) + 1)
	left = a.client.Await(ctx, &a.asked, until)
	copy(votes, a.asked.Votes())
	return left == nil && a.asked.Won(), left
}

// cancel undoes a failed acquisition on each master that granted. On each master that may have
// granted, the undo also leaves a gone mark. If the caller goes on waiting, the client keeps the given
// place in the queues, and unsent requests still add the client to the queues of other masters.
func (a *attempt) cancel(in lease.Place) {
	c, h, terms := a.client, a.h, a.h.Terms()
	a.queued = false
	undo := func(i int, v script.Vote) script.Vote {
		c.learnTime(i, v)
		h.Take(i, lease.ToAcquire, v, terms, a.asked.View)
		h.Undo(i, in.Kept())
		return v
	}
	a.asked.Receive(!in.Waits(), undo)
	c.offers.forget(a)
}
