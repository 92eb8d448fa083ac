package redlock

import (
	"context"
	"testing"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

// A first whose context ends in the middle of an attempt may have been called for
// it: the next waiter has that from nobody, and must ask.
func TestWhoInheritsAnAttemptAsks(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		first := c.queues.Join("job", c.config.lock, waitqueue.Ticket{})
		next := c.queues.Join("job", c.config.lock, waitqueue.Ticket{})
		first.EverAsked, first.AskAt = true, c.now().Add(askInterval)
		ctx, cancel := context.WithCancel(background)
		cancel()
		_, _, err := c.tryFor(ctx, "job", first, nil)
		requireErr(t, err, context.Canceled)
		c.stopWaiting("job", first, nil)
		if turn := c.queues.TurnOf(next); !turn.Ask || turn.Inherited && c.now().Before(next.AskAt) {
			t.Errorf("it is the next one's turn: %v; it may only ask in %v", turn.Ask, next.AskAt.Sub(c.now()))
		}
		c.stopWaiting("job", next, nil)
	})
}
