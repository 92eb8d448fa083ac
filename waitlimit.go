package redlock

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// waitLimit is the bound of a wait that has several parts.
type waitLimit struct {
	client *Client
	wait   time.Duration // forever: no bound
	since  clock.Instant
}

// left is how much of it is left.
func (p *waitLimit) left() time.Duration {
	if p.wait == forever {
		return forever
	}
	return max(0, p.wait-p.client.now().Sub(p.since))
}

// over returns why the wait is over, or nil.
func (p *waitLimit) over(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return contextError(ctx)
	case p.client.closed.Err() != nil:
		return ErrClosed
	case p.left() == 0:
		return context.DeadlineExceeded
	}
	return nil
}
