package acquire

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/unwind"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// setCall is one try at all names of a set.
type setCall struct {
	*Client
	*lease.Set
	options Options          // of each name
	ticket  waitqueue.Ticket // of the first wait, used for all waits; read by LockAll's goroutine only
}

// newSet returns a try that has acquired nothing yet.
func (c *Client) newSet(ctx context.Context, o Options, ticket waitqueue.Ticket) *setCall {
	s := &setCall{Client: c, Set: c.Holds.NewSet(ctx), options: o, ticket: ticket}
	s.options.set = s
	return s
}

// LockAll acquires all names or none: it makes one attempt, or waits. It takes the names in the
// given order, which must be the same for all clients.
func (c *Client) LockAll(ctx context.Context, names []string, o Options) (*lease.Set, error) {
	if o.Wait > 0 {
		return c.waitForAll(ctx, names, o)
	}
	s := c.newSet(ctx, o, waitqueue.Ticket{})
	return s.takeBy(func() error { return s.take(names) })
}

// takeBy acquires all names by the function take, and completes the set. If one of these steps
// fails, or an observer does not return, takeBy releases the names that the set has.
func (s *setCall) takeBy(take func() error) (*lease.Set, error) {
	discard := func() { s.Discard(ask.ErrNotAcquired) }
	var err error
	unwind.OrElse(func() { err = take() }, discard)
	if err == nil {
		if lost := s.Complete(s.options.MaxHold, s.options.AtLeast); lost != nil {
			err = printable.Because(ask.ErrNotAcquired, lost)
		}
	}
	if err != nil {
		discard()
		return nil, err
	}
	return s.Set, nil
}

// waitForAll first asks for all names at once. If that fails, it waits for one name after the other.
func (c *Client) waitForAll(ctx context.Context, names []string, o Options) (*lease.Set, error) {
	within := c.limit(o.Wait)
	var ticket waitqueue.Ticket
	var last error
	for try := 0; ; try++ {
		s := c.newSet(ctx, o, ticket)
		set, err := s.takeBy(func() (err error) {
			if try == 0 {
				return s.take(names)
			}
			return s.takeInOrder(names, within)
		})
		if err == nil {
			return set, nil
		}
		ticket = s.ticket
		last = lastResult(err, last)
		ends := within.ends(ctx, &o, last)
		if ends == nil && (try > 0 || !errors.Is(err, ask.ErrHeld)) {
			_ = c.Pause(ctx, min(retryPause(try, err, rand.Float64()), within.left()))
			ends = within.ends(ctx, &o, last)
		}
		if ends != nil {
			return nil, ends
		}
	}
}

// takeInOrder waits in line for one name after the other, and keeps the names that it has acquired.
// After each name, if several names remain, it also tries to take all of them at once, without waiting.
func (s *setCall) takeInOrder(names []string, within waitLimit) error {
	var tried error
	for i, name := range names {
		if _, err := s.wait(s.Base(), name, s.options, within); err != nil {
			return lastResult(err, tried)
		}
		if rest := names[i+1:]; len(rest) > 1 {
			if tried = s.take(rest); tried == nil {
				return nil
			}
		}
	}
	return nil
}

// take makes one attempt to take these names of the set at once. If one of the names is not free,
// take gives back the others.
func (s *setCall) take(names []string) error {
	ctx, deadline := s.Base(), s.Deadline()
	if err := s.suit(ctx, ask.OpAcquire, names[0], &s.options); err != nil {
		return err
	}
	return s.atEachVersion(ctx, deadline, func(v *membership.View) error { return s.takeAt(v, names, deadline) })
}

// takeAt makes one attempt for each of these names, at one version of the members. The attempts are
// sent together. They are won together, or canceled together.
func (s *setCall) takeAt(v *membership.View, names []string, deadline clock.Instant) error {
	ctx := s.Base()
	s.options.Observer.Attempted()
	attempts := s.askForAll(v, names, deadline)
	votes, failed, err := s.awaitAll(ctx, attempts, deadline)
	switch {
	case failed < 0:
		err = s.makeTokens(ctx, attempts, votes)
	case err != nil:
		err = ask.NotWaited(err, v, ask.OpAcquire, names[failed], votes[failed])
	default:
		err = ask.NotGranted(v, ask.OpAcquire, names[failed], votes[failed])
	}
	if err != nil {
		s.Gather(func() {
			for _, a := range attempts {
				a.cancel(nowhere)
			}
		})
		name := names[0]
		if f, ok := errors.AsType[*ask.Failure](err); ok {
			name = f.Name
		}
		s.options.Observer.Failed(name, attempts[0].start, err)
		return err
	}
	begin(ctx, attempts)
	return nil
}

// begin begins the holds of the attempts. If an observer does not return, begin cancels the later
// attempts.
func begin(ctx context.Context, attempts []*attempt) {
	for i, a := range attempts {
		unwind.OrElse(func() { a.begin(ctx) }, func() {
			for _, rest := range attempts[i+1:] {
				rest.cancel(nowhere)
			}
		})
	}
}

// awaitAll waits until all attempts are decided, or the deadline has passed. It returns the votes,
// and the index of the first attempt that failed, or -1. Each master replies to all names together.
func (s *setCall) awaitAll(ctx context.Context, attempts []*attempt, deadline clock.Instant) (votes [][]script.Vote, failed int, err error) {
	votes, failed = make([][]script.Vote, len(attempts)), -1
	for i, a := range attempts {
		if err == nil {
			err = s.Await(ctx, &a.asked, deadline)
		}
		votes[i] = a.asked.Votes()
		if failed < 0 && (err != nil || quorum.Decide(votes[i], a.asked.Need) != quorum.Won) {
			failed = i
		}
	}
	return votes, failed, err
}

// askForAll asks each master for all names, in one batch.
func (s *setCall) askForAll(v *membership.View, names []string, deadline clock.Instant) []*attempt {
	attempts := make([]*attempt, len(names))
	for i, name := range names {
		a := s.prepare(v, name, s.options, nowhere)
		a.deadline = deadline
		attempts[i] = a
	}
	s.Gather(func() {
		for _, a := range attempts {
			requests := a.asked.Requests(len(s.Masters))
			for m := range requests {
				requests[m] = master.Request{Order: a.h.Name, Call: a.call, Version: v.Version, To: &a.asked}
			}
			a.asked.Ask(s.Masters)
		}
	})
	return attempts
}

// makeTokens confirms the token of each name on a quorum of masters, and checks that enough time of
// each lease is left.
func (s *setCall) makeTokens(ctx context.Context, attempts []*attempt, votes [][]script.Vote) error {
	atToken := make([][]script.Vote, len(attempts))
	asked := make([]*quorum.Round, len(attempts))
	s.Gather(func() {
		for i, a := range attempts {
			atToken[i], asked[i] = a.askToConfirm(votes[i])
		}
	})
	var failed error
	for i, a := range attempts {
		if asked[i] == nil {
			continue
		}
		var err error
		if atToken[i], err = a.confirmed(ctx, asked[i], votes[i]); err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	for i, a := range attempts {
		if !a.h.Count(votes[i], atToken[i]) {
			return ask.FailureOf(a.asked.View, ask.OpAcquire, a.h.Name, ErrTooSlow, votes[i])
		}
	}
	return nil
}
