package redlock

import (
	"context"
	"testing"
	"time"

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

// A hand-over is for the masters that vote, and all that had the lock are told that it is
// free, though one among them does not vote.
func TestAHandOverBesideAMemberThatDoesNotVote(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		must(t, c.changeMembers(background, suspendMember(d.address(0)), nil))
		lock := mustTry(t, c, "job")
		next := goLock(t, c, "job")
		eventually(t, "the next one waits", func() bool { return c.queues.Waiting("job") == 1 })
		settled(t, c)
		start := time.Now()
		must(t, lock.Unlock(background))
		lock = have(t, next)
		if took := time.Since(start); took > time.Millisecond {
			t.Errorf("the hand-over took %v", took)
		}
		settled(t, c)
		if got := d.holders("job"); got != "011" {
			t.Errorf("held on %s", got)
		}
		must(t, lock.Unlock(background))
	})
}
