package redlock

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// await waits until r is decided or the deadline has passed. It returns why when ctx
// ends, or the client is closed, before. When masters had no vote in r, and would have one if they
// were asked again, it does not wait for those that are pending, which may hang: newerView asks again.
func (c *Client) await(ctx context.Context, r *quorum.Round, deadline clock.Instant) error {
	timer := c.getTimer(deadline.Sub(c.now()))
	defer c.putTimer(timer)
	decided := c.listen(r)
	defer c.stopListening(r, decided)
	var changed <-chan struct{}
	for {
		select {
		case <-decided:
		case <-changed:
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return printable.ContextError(ctx)
		case <-c.closed.Done():
			return ErrClosed
		}
		if r.Decided() {
			return nil
		}
		var overtaken bool
		if overtaken, changed = c.members.Overtaken(r.View, r.Outdated()); overtaken {
			r.Overtake()
			return nil
		}
	}
}

// pause waits for d. It returns why when ctx ends, or the client is closed, before.
func (c *Client) pause(ctx context.Context, d time.Duration) error {
	timer := c.getTimer(d)
	defer c.putTimer(timer)
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return printable.ContextError(ctx)
	case <-c.closed.Done():
		return ErrClosed
	}
}

// listen returns a channel from the client's pool that gets something when the
// verdict of r falls.
func (c *Client) listen(r *quorum.Round) chan struct{} {
	decided, ok := c.signals.Get().(chan struct{})
	if !ok {
		decided = make(chan struct{}, 1)
	}
	r.Notify(decided)
	return decided
}

// stopListening gives the channel back.
func (c *Client) stopListening(r *quorum.Round, decided chan struct{}) {
	r.Notify(nil)
	select {
	case <-decided:
	default:
	}
	c.signals.Put(decided)
}

// getTimer returns one from the client's pool, set to d.
func (c *Client) getTimer(d time.Duration) *time.Timer {
	if t, ok := c.timers.Get().(*time.Timer); ok {
		t.Reset(d)
		return t
	}
	return time.NewTimer(d)
}

// putTimer gives a timer back. (Since Go 1.23 one that was stopped or reset has
// nothing left in its channel.)
func (c *Client) putTimer(t *time.Timer) {
	t.Stop()
	c.timers.Put(t)
}

// question asks all masters something that changes nothing, and waits for the verdict: then no further answer is wanted.
func (c *Client) question(ctx context.Context, asked *quorum.Round, name string, call script.Call, deadline clock.Instant) error {
	requests := asked.Requests(len(c.masters))
	for i := range requests {
		requests[i] = master.Request{Order: name, Call: call, Version: asked.View.Version, To: asked}
	}
	asked.Ask(c.masters)
	defer asked.Abandon()
	return c.await(ctx, asked, deadline)
}
