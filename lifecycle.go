package redlock

import (
	"context"

	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/unwind"
)

// check panics on misuse: a nil ctx, or a Client that was not made by New or Open.
func (c *Client) check(ctx context.Context) {
	if c == nil || c.masters == nil {
		panic("redlock: the Client is nil or zero: make one with New or Open")
	}
	if ctx == nil {
		panic("redlock: nil context")
	}
}

// enter begins a call, or returns an error if ctx has ended or the client is closed. Unless
// enter returns an error, the caller must call c.calls.Done.
func (c *Client) enter(ctx context.Context) error {
	if ctx.Err() != nil {
		return printable.ContextError(ctx)
	}
	if !c.begin() {
		return ErrClosed
	}
	return nil
}

// begin registers a call, and reports whether the client is open. If it is open, the caller must
// call c.calls.Done.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed.Err() != nil {
		return false
	}
	c.calls.Add(1)
	return true
}

// unlocking calls exit for an Unlock. If Close has not begun, a later Close waits until exit has submitted
// its requests. If Close has begun, unlocking calls exit before or after Close ends the holds, not meanwhile.
func (c *Client) unlocking(exit func() (*quorum.Round, error)) (*quorum.Round, error) {
	if c.begin() {
		defer c.calls.Done()
	} else {
		c.ending.Lock()
		defer c.ending.Unlock()
	}
	return exit()
}

// Close ends every hold of the client (the contexts end with ErrClosed), gives back every lock that
// the masters may have granted, and ends all goroutines and connections. Calls under way return
// ErrClosed. Close waits for the masters that answer; a master that does not answer delays Close by
// at most two request timeouts and a dial, or by 5 s if it is behind Sentinel. Later calls fail with
// ErrClosed.
func (c *Client) Close() error {
	c.check(context.Background())
	c.mu.Lock()
	closed := c.closed.Err() != nil
	c.close(ErrClosed)
	c.mu.Unlock()
	if closed {
		return ErrClosed
	}
	c.members.Stop()
	for _, m := range c.masters {
		m.Hurry()
	}
	c.calls.Wait()
	unwind.OrElse(c.endHolds, func() { _ = c.stop() })
	return c.stop()
}

func (c *Client) endHolds() {
	c.ending.Lock()
	defer c.ending.Unlock()
	c.holds.Close(ErrClosed)
}

func (c *Client) stop() error {
	c.holds.Stop()
	c.announcer.Stop()
	c.locks.Close()
	for _, m := range c.masters {
		m.Close()
	}
	for _, m := range c.masters {
		m.Wait()
	}
	c.members.Wait()
	var errs []error
	for _, r := range c.owned {
		errs = append(errs, r.Close())
	}
	return printable.Join(errs...)
}
