package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// What the tests of what a user sees need of the inside. What other folders need as well is in
// inside.go.

// MaxDuration bounds the durations that options give.
const MaxDuration = maxDuration

// InBubble makes a Client go by the time of the synctest bubble in which it is called.
func InBubble() Option {
	epoch := time.Now()
	return clientOption(func(c *config) {
		c.now = func() clock.Instant { return clock.Instant(time.Since(epoch)) }
	})
}

// Watch gives c another observer.
func (c *Client) Watch(o Observer) { c.observer = observerOf(o) }

// Holds is how many holds c has.
func (c *Client) Holds() int { return len(c.holds.All()) }
