package acquire

import (
	"context"
	"errors"
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

// waitLimit is the bound of a call's wait. The wait may have several parts, even at the same time.
type waitLimit struct {
	client *Client
	wait   time.Duration // Forever: no bound
	since  clock.Instant
}

// limit returns the bound of a wait that begins now.
func (c *Client) limit(wait time.Duration) waitLimit {
	return waitLimit{client: c, wait: wait, since: c.Now()}
}

// left returns the rest of the wait.
func (p waitLimit) left() time.Duration {
	if p.wait == Forever {
		return Forever
	}
	return max(0, p.wait-p.client.Now().Sub(p.since))
}

// over returns why the wait is over, or nil.
func (p waitLimit) over(ctx context.Context) error {
	if why := p.client.Ended(ctx); why != nil {
		return why
	}
	if p.left() == 0 {
		return &waitedError{p.wait}
	}
	return nil
}

// ends returns the error of a call that ends after a failed attempt, or nil if the call goes on waiting. result is the
// error of the call's last attempt that had a result.
func (p waitLimit) ends(ctx context.Context, o *Options, result error) error {
	switch {
	case errors.Is(result, ErrBadOption):
		return result
	case p.client.Ended(ctx) == nil && o.needsSetup(result):
		return printable.Join(result, ErrNeedsSetup)
	}
	if why := p.over(ctx); why != nil {
		return leftWith(ctx, why, result)
	}
	return nil
}

// leftWith returns the error of a call that ends because of why. result is the error of its last attempt that had a
// result. If that attempt ended because of why, its error has why already.
func leftWith(ctx context.Context, why, result error) error {
	if errors.Is(result, why) || errors.Is(result, ctx.Err()) && errors.Is(result, context.Cause(ctx)) {
		return result
	}
	return ask.Left(why, result)
}

// lastResult returns the first of these two errors that is the result of an attempt. If neither is, it returns the
// first that is not nil.
func lastResult(failed, before error) error {
	if failed == nil || before != nil && !hasResult(failed) {
		return before
	}
	return failed
}

// hasResult reports whether a failed attempt had a result, before its caller left or the client was closed.
func hasResult(err error) bool {
	if f, ok := errors.AsType[*ask.Failure](err); ok {
		return !f.Undecided
	}
	return !errors.Is(err, master.ErrClosed) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
