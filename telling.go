package redlock

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// telling is what the observer is told of one call that is to lock, and of its holds. It is
// nil if nobody wants to know.
type telling struct {
	client   *Client
	ctx      context.Context // that Started returned
	call     LockCall
	began    clock.Instant
	attempts atomic.Int64 // those for several slots are made at the same time
	reEntry  bool         // only the caller's goroutine looks at it
}

// wantsCalls reports that somebody is to be told of something that has a call's context.
func (o *Observer) wantsCalls() bool {
	return o.Started != nil || o.AttemptFailed != nil || o.Finished != nil || o.Acquired != nil || o.Renewed != nil ||
		o.RenewalFailed != nil || o.Ended != nil || o.ClockJumped != nil
}

// tellStart tells of a call. It returns nil if nobody wants to know.
func (c *Client) tellStart(ctx context.Context, names []string, set bool, cfg *lockConfig, mayWait bool) *telling {
	t := &telling{client: c, ctx: ctx, began: c.now()}
	t.call = LockCall{Names: names, Set: set, Reads: cfg.reads, Waits: mayWait && cfg.wait > 0, Slots: cfg.slots}
	if c.observer.Started != nil {
		if t.ctx = c.observer.Started(ctx, t.call); t.ctx == nil {
			panic("redlock: Observer.Started returned a nil context")
		}
	}
	return t
}

func (t *telling) finished(err error) {
	if t != nil && t.client.observer.Finished != nil {
		t.client.observer.Finished(t.ctx, LockResult{
			LockCall: t.call, Took: t.client.now().Sub(t.began), Attempts: int(t.attempts.Load()), ReEntry: t.reEntry, Err: err,
		})
	}
}

func (t *telling) reEnters() {
	if t != nil {
		t.reEntry = true
	}
}

func (t *telling) attempted() {
	if t != nil {
		t.attempts.Add(1)
	}
}

// failed tells of an attempt that began at start.
func (t *telling) failed(name string, start clock.Instant, err error) {
	if t != nil && t.client.observer.AttemptFailed != nil {
		t.tellFailed(name, t.client.now().Sub(start), err)
	}
}

// notMade tells of an attempt for which the masters could not be asked.
func (t *telling) notMade(name string, err error) {
	if t != nil && t.client.observer.AttemptFailed != nil {
		t.tellFailed(name, 0, err)
	}
}

func (t *telling) tellFailed(name string, took time.Duration, err error) {
	t.client.observer.AttemptFailed(t.ctx, FailedAttempt{
		Name: name, Reads: t.call.Reads, Set: t.call.Set, Waits: t.call.Waits, Took: took, Err: err,
	})
}

// told is how the observer knows the hold.
func (h *hold) told() Hold {
	_, slot := slotOf(h.name)
	return Hold{Name: h.name, Slot: slot, Token: h.Token, Reads: h.Token == 0, Set: h.set != nil}
}

// observer is who is told of the hold. It is nobody for one that no call to lock asked for: that of ForceUnlock.
func (h *hold) observer() *Observer {
	if h.telling == nil {
		return new(Observer)
	}
	return &h.client.observer
}

// tellAcquired comes before begin, so that the end of the hold is told after it.
func (h *hold) tellAcquired(start clock.Instant, votes []script.Vote) {
	if acquired := h.observer().Acquired; acquired != nil {
		acquired(h.telling.ctx, Acquisition{h.told(), h.client.now().Sub(start), h.client.publish(votes)})
	}
}

func (h *hold) tellRenewed(validFor time.Duration) {
	if renewed := h.observer().Renewed; renewed != nil {
		renewed(h.telling.ctx, Renewal{h.told(), validFor})
	}
}

func (h *hold) tellRenewalFailed(v *membership.View, votes []script.Vote) {
	failed := h.observer().RenewalFailed
	if failed == nil {
		return
	}
	h.mu.Lock()
	alive, left := h.alive(), h.lease.Until().Sub(h.client.now())
	h.mu.Unlock()
	if alive {
		failed(h.telling.ctx, FailedRenewal{h.told(), left, h.client.notGranted(v, opExtend, h.name, votes)})
	}
}

func (h *hold) tellEnded(cause error) {
	ended := h.observer().Ended
	if ended == nil {
		return
	}
	h.mu.Lock()
	end := HoldEnd{Held: h.endedAt.Sub(h.began), Cause: cause}
	h.mu.Unlock()
	end.Hold = h.told()
	if (cause == ErrReleased || cause == ErrClosed) && h.lingers() {
		end.TakenFor = h.takenUntil().Sub(h.client.now())
	}
	ended(h.telling.ctx, end)
}

func (h *hold) tellJump(master int, by time.Duration) {
	if jumped := h.observer().ClockJumped; jumped != nil {
		jumped(h.telling.ctx, ClockJump{h.told(), h.client.masters[master].Name, by})
	}
}

// tellUnlock runs an Unlock, and tells of it.
func (c *Client) tellUnlock(ctx context.Context, unlock func() error, result UnlockResult) error {
	start := c.now()
	result.Err = unlock()
	result.Took = c.now().Sub(start)
	c.observer.Unlocked(ctx, result)
	return result.Err
}

// callTeller is what a master is to call after each batch, or nil.
func (c *Client) callTeller(master string) func(took time.Duration, operations int, err error) {
	if c.observer.MasterCalled == nil {
		return nil
	}
	return func(took time.Duration, operations int, err error) {
		c.observer.MasterCalled(MasterCall{Master: master, Operations: operations, Took: took, Err: printable.Error(err)})
	}
}

func (c *Client) tellUp(master string) {
	if c.observer.MasterUp != nil {
		c.observer.MasterUp(MasterStatus{Master: master})
	}
}

func (c *Client) tellDown(master string, err error) {
	if c.observer.MasterDown != nil {
		c.observer.MasterDown(MasterStatus{master, printable.Error(err)})
	}
}

func (c *Client) tellOut(master string, err error) {
	if c.observer.NotAMember != nil {
		c.observer.NotAMember(MasterStatus{master, printable.Error(err)})
	}
}

func (c *Client) tellVersion(now *membership.View) {
	if c.observer.VersionLearned != nil {
		c.observer.VersionLearned(TableVersion{now.Number()})
	}
}

func (c *Client) tellMemberChanges(before, now *membership.View) {
	if c.observer.MemberChanged == nil {
		return
	}
	for _, change := range membership.Changes(before.Table, now.Table) {
		c.observer.MemberChanged(MemberTransition{change.Address, MemberState(change.From), MemberState(change.To)})
	}
}
