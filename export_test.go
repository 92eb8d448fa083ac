package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// InBubble makes a Client go by the time of the synctest bubble in which it is called.
func InBubble() Option {
	epoch := time.Now()
	return clientOption(func(c *config) {
		c.now = func() clock.Instant { return clock.Instant(time.Since(epoch)) }
	})
}
