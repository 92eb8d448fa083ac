package redlock

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// What the tests of what a user sees need of the inside. What other folders need as well is in hooks.go.

const (
	MaxDuration     = maxDuration
	Forever         = forever
	AskInterval     = askInterval
	MaxAskInterval  = maxAskInterval
	CoveredInterval = coveredInterval
	MaxPause        = maxPause
	StandByPause    = standByPause
	KeepFor         = keepFor
	SpreadEach      = spreadEach
)

// InBubble makes a Client go by the time of the synctest bubble in which it is called.
func InBubble() Option {
	epoch := time.Now()
	return clientOption(func(c *config) {
		c.now = func() clock.Instant { return clock.Instant(time.Since(epoch)) }
	})
}

// SlotName is the name of the lock of a slot.
func SlotName(name string, slot int) string { return slotName(name, slot) }

// Watch gives c another observer.
func (c *Client) Watch(o Observer) { c.observer = o }

// Holds is how many holds c has.
func (c *Client) Holds() int { return len(c.holds.All()) }

// TakeInOrder takes names one after the other, as LockAll does after it asked for all of them in vain.
func (c *Client) TakeInOrder(ctx context.Context, names []string, wait time.Duration, opts ...LockOption) (*Locks, error) {
	cfg, err := c.configFor(names[0], opts)
	if err != nil {
		return nil, err
	}
	cfg.telling = c.tellStart(ctx, names, true, &cfg, true)
	s := c.newLocks(ctx, names, cfg, waitqueue.Ticket{})
	if err := c.takeInOrder(s, s.names, &waitLimit{client: c, wait: wait, since: c.now()}); err != nil {
		s.abandon()
		return nil, err
	}
	return s.finish(cfg)
}
