package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Internals for the tests of this folder. inside.go has the internals that other folders need too.

// MaxDuration is the longest duration that an option accepts.
const MaxDuration = maxDuration

// InBubble makes a Client use the time of the synctest bubble in which InBubble is called.
func InBubble() Option {
	epoch := time.Now()
	return clientOption(func(c *config) {
		c.now = func() clock.Instant { return clock.Instant(time.Since(epoch)) }
	})
}

// Watch gives c another observer.
func (c *Client) Watch(o Observer) { c.observer = observerOf(o) }

// Holds returns the number of c's holds.
func (c *Client) Holds() int { return len(c.holds.All()) }
