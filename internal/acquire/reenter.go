package acquire

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
)

// reenter enters a hold again: a quorum of the masters must reply that the owner of h still has the lock.
func (c *Client) reenter(ctx context.Context, h *lease.Hold, o Options) (*lease.Entry, error) {
	o.Observer.ReEnters()
	o, err := c.Resolve(c.Members.View(), h, o)
	if err != nil {
		return nil, err
	}
	deadline := c.Deadline()
	entry, err := h.Reenter(o.Reads, o.NoReentry)
	if err != nil {
		return nil, printable.Because(ask.ErrNotAcquired, err)
	}
	err = c.WhileMembersChange(ctx, deadline, func(v *membership.View) error {
		return c.enterAgain(ctx, h, v, o.TTL, deadline)
	})
	if errors.Is(err, lease.ErrLost) {
		h.End(lease.ErrLost)
	}
	if err == nil && !h.Valid() {
		err = printable.Because(ask.ErrNotAcquired, h.End(lease.ErrExpired))
	}
	if err != nil {
		entry.Exit(!o.Reads)
		return nil, err
	}
	entry.Begin(ctx, o.WithCtx, o.AtLeast)
	return entry, nil
}

// enterAgain asks the masters once, at one view, to enter the hold again.
func (c *Client) enterAgain(ctx context.Context, h *lease.Hold, v *membership.View, ttl time.Duration, deadline clock.Instant) error {
	asked := h.AskToReenter(v, ttl)
	err := c.Await(ctx, asked, deadline)
	if err != nil {
		asked.Abandon()
	}
	votes := asked.Votes()
	switch {
	case err != nil:
		return ask.NotWaited(err, v, ask.OpReenter, h.Name, votes)
	case quorum.Decide(votes, asked.Need) != quorum.Won:
		return ask.NotGranted(v, ask.OpReenter, h.Name, votes)
	}
	return nil
}
