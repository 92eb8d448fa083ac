package redlock

import (
	"context"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Ready reports whether the client can get locks now: the members are known, the client's settings
// suit the deployment, and a quorum of voting masters answers. It takes at most the request
// timeout. It takes no lock, writes nothing on the masters, and runs on the connections that locks
// use.
//
// It is for a readiness probe and for the start of a program: send no work that needs a lock to a
// process that is not ready. Do not use it
//   - for a liveness probe: a restart of this process brings no master back, and ends
//     its holds;
//   - before each Lock: Lock asks the masters itself, and the answer of Ready is out of
//     date by then;
//   - to keep away work that needs no lock: when the masters are down, no process is ready.
//
// Ready reports that a master refuses writes (it is out of memory, for example) only after the
// master has refused a write of this client. Such a write is a lock, or the client's name, host
// and process, which the client sends when a master comes up. Ready reports a right that the user
// lacks, because the client checks its rights on each master when it connects. If a right is taken
// away later, the client notices this only when an operation needs the right.
//
// Errors: a *QuorumError with the fault of each master, joined with ErrNeedsInit if no deployment
// was founded or a majority of its members lost its data, and with ErrDenied if the user lacks a
// right on a master; a *OptionError for a setting that the deployment does not allow; ctx's error
// and cause; ErrClosed.
func (c *Client) Ready(ctx context.Context) error {
	c.check(ctx)
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.calls.Done()
	deadline := c.asker.Deadline()
	v, err := c.asker.FirstView(ctx, ask.OpReady, noName)
	if err != nil {
		return c.public(err)
	}
	if _, err := c.resolve(v, nil, c.defaults); err != nil {
		return err
	}
	return c.public(c.asker.WhileMembersChange(ctx, deadline, func(v *membership.View) error {
		return c.answers(ctx, v, deadline)
	}))
}

// noName takes the place of a lock's name in requests that are not about a lock, and in their errors.
const noName = ""

// answers asks all masters a question that only voting masters answer, and returns an error if no
// quorum answered.
func (c *Client) answers(ctx context.Context, v *membership.View, deadline clock.Instant) error {
	keys := script.KeysOf(c.prefix, noName, "")
	question := script.Verify.Call(&keys, uint64(0))
	asked := quorum.NewRound(v)
	asked.Weigher = quorum.WeighFunc(func(i int, vote script.Vote) script.Vote {
		if !vote.NotMine() {
			return vote
		}
		// The master has executed the question, and found no lock.
		if vote.Answer, vote.Err = script.Granted, c.masters[i].Refusal(); vote.Err != nil {
			vote.Answer = script.Refused
		}
		return vote
	})
	err := c.asker.Question(ctx, asked, noName, question, deadline)
	if votes := asked.Votes(); err == nil && quorum.Decide(votes, asked.Need) != quorum.Won {
		err = ask.NotGranted(v, ask.OpReady, noName, votes)
	}
	return err
}
