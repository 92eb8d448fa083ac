package acquire

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
)

// waitedError is the error of a call whose wait (WithWait) is over. It matches context.DeadlineExceeded,
// so that callers can treat a wait like a deadline of their context. Its text names the wait,
// because no context has ended.
type waitedError struct{ wait time.Duration }

func (e *waitedError) Error() string { return fmt.Sprintf("%v within %v", ask.ErrNotAcquired, e.wait) }

func (e *waitedError) Is(target error) bool {
	_, same := target.(*waitedError)
	return same || target == context.DeadlineExceeded || target == ask.ErrNotAcquired
}

// waited returns the error for the end of a wait with these options. In a set, the error shows the
// wait of the whole set, not what was left of it for one name.
func (o *Options) waited() error {
	if o.set != nil {
		return &waitedError{o.set.options.Wait}
	}
	return &waitedError{o.Wait}
}

// waitLimit is the bound of a wait that has several parts.
type waitLimit struct {
	client *Client
	wait   time.Duration // Forever: no bound
	since  clock.Instant
}

// left returns the rest of the wait.
func (p *waitLimit) left() time.Duration {
	if p.wait == Forever {
		return Forever
	}
	return max(0, p.wait-p.client.Now().Sub(p.since))
}

// over returns why the wait is over, or nil.
func (p *waitLimit) over(ctx context.Context) error {
	switch {
	case ctx.Err() != nil:
		return printable.ContextError(ctx)
	case p.client.Closed.Err() != nil:
		return master.ErrClosed
	case p.left() == 0:
		return &waitedError{p.wait}
	}
	return nil
}
