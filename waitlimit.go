package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/printable"
)

// waitedError is why a wait with WithWait is over. It is context.DeadlineExceeded for code that asks for that, whichever of its bounds
// was met, and says what is so: no context has ended.
type waitedError struct{ wait time.Duration }

func (e *waitedError) Error() string { return fmt.Sprintf("%v within %v", ErrNotAcquired, e.wait) }

func (e *waitedError) Is(target error) bool {
	_, same := target.(*waitedError)
	return same || target == context.DeadlineExceeded || target == ErrNotAcquired
}

// waited is why the wait of a call with these settings is over. In a set, each name waits for what is left of one wait.
func (l *lockConfig) waited() error {
	if l.set != nil {
		return &waitedError{l.set.cfg.wait}
	}
	return &waitedError{l.wait}
}

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
		return printable.ContextError(ctx)
	case p.client.closed.Err() != nil:
		return ErrClosed
	case p.left() == 0:
		return &waitedError{p.wait}
	}
	return nil
}
