package redlock

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// tracer reports one lock call and its holds.
type tracer interface {
	acquire.Observer
	finished(error)
}

// untraced is the tracer for an observer without functions that get the context of a call.
type untraced struct{ acquire.Silent }

func (untraced) finished(error) {}

// trace is the tracer that calls the client's observer.
type trace struct {
	client   *Client
	ctx      context.Context // returned by Started
	call     LockCall
	began    clock.Instant
	attempts atomic.Int64 // several slots may count at the same time
	reEntry  bool         // used by the caller's goroutine only
}

// startTrace calls Started, and sets the tracer as o's Observer.
func (c *Client) startTrace(ctx context.Context, set bool, o *acquire.Options, names ...string) tracer {
	if !c.observer.calls {
		return untraced{}
	}
	t := &trace{client: c, began: c.now()}
	t.call = LockCall{Names: slices.Clone(names), Set: set, Reads: o.Reads, Waits: o.Wait > 0, Slots: o.Slots}
	o.Observer = t
	if t.ctx = c.observer.Started(ctx, t.call); t.ctx == nil {
		panic("redlock: Observer.Started returned a nil context")
	}
	return t
}

func (t *trace) finished(err error) {
	t.client.observer.Finished(t.ctx, LockResult{
		LockCall: t.call, Took: t.client.now().Sub(t.began), Attempts: int(t.attempts.Load()), ReEntry: t.reEntry, Err: err,
	})
}

func (t *trace) ReEnters()  { t.reEntry = true }
func (t *trace) Attempted() { t.attempts.Add(1) }

// Failed reports an attempt that began at start.
func (t *trace) Failed(name string, start clock.Instant, err error) {
	t.notifyFailed(name, t.client.now().Sub(start), err)
}

// NotMade reports an attempt for which the masters could not be asked.
func (t *trace) NotMade(name string, err error) { t.notifyFailed(name, 0, err) }

func (t *trace) notifyFailed(name string, took time.Duration, err error) {
	t.client.observer.AttemptFailed(t.ctx, FailedAttempt{
		Name: name, Reads: t.call.Reads, Set: t.call.Set, Waits: t.call.Waits, Took: took, Err: t.client.public(err),
	})
}

// hold describes h for the Observer.
func (t *trace) hold(h *lease.Hold) Hold {
	_, slot := acquire.SlotOf(h.Name)
	return Hold{Name: h.Name, Slot: slot, Token: h.Token, Reads: h.Token == 0, Set: t.call.Set}
}

// Acquired is called before the hold begins, so that the observer gets Acquired before Ended.
func (t *trace) Acquired(h *lease.Hold, start clock.Instant, asked *quorum.Round) {
	t.client.observer.Acquired(t.ctx, Acquisition{t.hold(h), t.client.now().Sub(start), t.client.publish(asked.Votes())})
}

func (t *trace) Renewed(h *lease.Hold, validFor time.Duration) {
	t.client.observer.Renewed(t.ctx, Renewal{t.hold(h), validFor})
}

func (t *trace) RenewalFailed(h *lease.Hold, v *membership.View, votes []script.Vote) {
	if left, alive := h.Left(); alive {
		t.client.observer.RenewalFailed(t.ctx, FailedRenewal{t.hold(h), left, t.client.public(ask.NotGranted(v, ask.OpExtend, h.Name, votes))})
	}
}

func (t *trace) Forgotten(h *lease.Hold) {
	t.client.observer.Forgotten(t.ctx, ForgottenHold{t.hold(h), h.Age()})
}

func (t *trace) Ended(h *lease.Hold, cause error) {
	end := HoldEnd{Hold: t.hold(h), Held: h.Held(), Cause: cause}
	if cause == ErrReleased || cause == ErrClosed {
		end.TakenFor = h.TakenFor()
	}
	t.client.observer.Ended(t.ctx, end)
}

func (t *trace) ClockJumped(h *lease.Hold, master int, by time.Duration) {
	t.client.observer.ClockJumped(t.ctx, ClockJump{t.hold(h), t.client.masters[master].Name, by})
}

// notifyUnlock runs an Unlock, and reports its result.
func (c *Client) notifyUnlock(ctx context.Context, unlock func() error, result UnlockResult) error {
	start := c.now()
	result.Err = unlock()
	result.Took = c.now().Sub(start)
	c.observer.Unlocked(ctx, result)
	return result.Err
}

// callNotifier returns the function that a master calls after each batch, or nil.
func (c *Client) callNotifier(master string) func(took time.Duration, operations int, err error) {
	if !c.observer.batches {
		return nil
	}
	return func(took time.Duration, operations int, err error) {
		c.observer.MasterCalled(MasterCall{Master: master, Operations: operations, Took: took, Err: printable.Error(err)})
	}
}

func (c *Client) notifyOutage(out membership.Outage) {
	c.observer.MemberOut(MasterStatus{out.Address, printable.Error(fmt.Errorf("it has not voted for %v: %w: %s", out.For.Round(time.Second), out.Why, out.Mend))})
}
