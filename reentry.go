package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
)

// WithoutReentry forbids re-entry: a Lock, TryLock or Do of the name, with a context derived from the
// hold's, is refused at once, with ErrReentry. (With a mutex, the caller would wait for itself.) It
// is enough that either the hold or the new call has the option. Use it where entering twice is a
// mistake: for example, a callee uses the same lock name by chance, and does not expect that its
// caller is in the middle of something. Default: such a call re-enters the lock.
//
// A call whose context carries no lock of the name waits as always, also in the same goroutine.
func WithoutReentry() LockOption {
	return lockOption(func(l *lockConfig) { l.once = true })
}

// reenter enters a hold again: the masters are told the new depth, and a quorum
// must agree that the lock is still this owner's.
func (c *Client) reenter(ctx context.Context, h *lease.Hold, cfg lockConfig) (*Lock, error) {
	cfg.telling.reEnters()
	cfg.delay = h.Delay
	if !cfg.ttlGiven || cfg.ttl == c.config.lock.ttl { // nobody asked for it here
		cfg.ttl, cfg.ttlGiven = min(cfg.ttl, c.maxTTL-h.Delay), false
	}
	if err := c.suits(c.members.View(), &cfg); err != nil {
		return nil, err
	}
	if err := c.validateTTL(cfg.ttl, h.Delay); err != nil {
		return nil, err
	}
	deadline := c.now().Add(c.requestTimeout)
	entry, depth, err := h.Reenter(cfg.reads, cfg.once)
	if err != nil {
		return nil, printable.Because(ErrNotAcquired, err)
	}
	err = c.whileMembersChange(ctx, deadline, func(v *membership.View) error {
		return c.enterAgain(ctx, h, v, depth, cfg.ttl, deadline)
	})
	if errors.Is(err, ErrLost) {
		h.End(ErrLost)
	}
	if err == nil && !h.Valid() {
		err = printable.Because(ErrNotAcquired, h.End(ErrExpired))
	}
	if err != nil {
		entry.Exit(!cfg.reads)
		return nil, err
	}
	entry.Begin(ctx, cfg.withCtx, cfg.atLeast)
	return &Lock{client: c, h: h, entry: entry}, nil
}

// enterAgain asks the masters once to enter the hold again.
func (c *Client) enterAgain(ctx context.Context, h *lease.Hold, v *membership.View, depth int, ttl time.Duration, deadline clock.Instant) error {
	asked := h.AskToReenter(v, depth, ttl)
	err := c.await(ctx, asked, deadline)
	if err != nil {
		asked.Abandon()
	}
	votes := asked.Tally()
	switch {
	case err != nil:
		return c.notWaited(err, v, opReenter, h.Name, votes)
	case quorum.Decide(votes, asked.Need) != quorum.Won:
		return c.notGranted(v, opReenter, h.Name, votes)
	}
	return nil
}
