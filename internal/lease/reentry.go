package lease

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Reenter adds an entry. The caller must call AskToReenter, then Begin if the masters agree, and Exit
// if they do not. Reenter fails if the hold cannot be entered again.
func (h *Hold) Reenter(reads, once bool) (*Entry, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.over.cause != nil:
		return nil, h.over.cause
	case h.entries.depth == 0: // the last Unlock is about to end it
		return nil, ErrReleased
	case h.Config.NoReentry || once:
		return nil, ErrReentry
	case h.Reads.Load() && !reads:
		return nil, ErrUpgrade
	}
	h.entries.depth++
	if !reads {
		h.entries.writers++
	}
	return &Entry{hold: h, writes: !reads}, nil
}

// AskToReenter asks all masters to enter the hold again: a quorum must reply that this owner holds
// the lock.
func (h *Hold) AskToReenter(v *membership.View, ttl time.Duration) *quorum.Round {
	t := h.termsAt(v, ttl)
	h.mu.Lock()
	h.longest = max(h.longest, t.KeyTTL())
	h.mu.Unlock()
	asked := quorum.NewHeldRound(v)
	asked.Weigher = quorum.WeighFunc(func(i int, vote script.Vote) script.Vote { return h.Take(i, ToReenter, vote, t, v) })
	h.Send(asked, h.ReenterCall(t))
	return asked
}

// Begin gives a re-entry its context, derived from ctx. With withCtx, the entry demands renewal
// only until ctx ends.
func (e *Entry) Begin(ctx context.Context, withCtx bool, atLeast time.Duration) {
	h := e.hold
	// ctx may carry another lock's token by now.
	e.ctx, e.cancel = context.WithCancelCause(h.contextIn(ctx))
	e.renewal = h.renewUntil(ctx, withCtx)
	h.mu.Lock()
	h.taken = max(h.taken, atLeast)
	if h.entries.again == nil {
		h.entries.again = make(map[*Entry]struct{})
	}
	h.entries.again[e] = struct{}{}
	ended := h.over.cause
	if ended == nil && h.entries.unrenewed > 0 {
		h.renewals.timer.Reset(h.untilNextTick(h.holds.Now())) // the hold may be renewed again
	}
	h.mu.Unlock()
	if ended != nil {
		e.cancel(ended)
		e.renewal.stop()
	}
}

// EndReEntries ends the contexts of the re-entries.
func (h *Hold) EndReEntries(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.endReEntries(cause)
}

// endReEntries is EndReEntries for a caller that holds mu. It ends the contexts one by one, because they do not
// derive from the first entry's context.
func (h *Hold) endReEntries(cause error) {
	for e := range h.entries.again {
		e.cancel(cause)
	}
}
