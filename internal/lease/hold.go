package lease

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Hold is one fresh acquisition with all re-entries: the state that all entries share. Before
// Begin, it has no origin, cancel, began or timer. When the hold is over, over.cause is set. Each
// entry remains until it is unlocked.
type Hold struct {
	Owner  // its token is set before Begin, then constant; Reads is set before the first request, or by Downgrade
	Name   string
	Config Config        // constant
	Since  clock.Instant // since when callers of this client have passed the name on to each other; 0: Begin sets it

	holds    *Holds
	set      *Set // nil: none
	observer Observer
	origin   origin                  // set by Begin, then constant
	cancel   context.CancelCauseFunc // set by Begin, then constant
	siblings

	mu       sync.Mutex    // never held over I/O, a channel or a call into the client
	began    clock.Instant // set by Begin
	taken    time.Duration // the name stays taken for this time from began on, even if the hold ends earlier; 0: no minimum
	lease    Lease
	longest  time.Duration // the longest key ttl of all requests: no master keeps the lock longer after its last request
	offer    offer
	entries  entries
	renewals renewals
	blocks   bool // other callers of this client are kept from asking for the name
	over     end
}

// origin is how a hold was acquired.
type origin struct {
	view  *membership.View
	terms quorum.Terms
}

// siblings are the next older and the next newer hold of the same name, or nil. Holds.mu guards
// them.
type siblings struct{ older, newer *Hold }

// offer permits releases to grant the lock to the hold's acquisition.
type offer struct {
	channel *string       // the client's channel, on which masters publish the grant; nil: no offer
	since   clock.Instant // a time before the offer was sent
}

// end is how a hold ended.
type end struct {
	cause error       // nil: the hold has not ended
	is    atomic.Bool // cause is set; read without mu
	at    clock.Instant
}

// termsAt returns the terms of a request for a lease at a view. It limits even a ttl that was checked at an
// older view to the view's max ttl, after which a server that replaces a member may vote.
func (h *Hold) termsAt(v *membership.View, ttl time.Duration) quorum.Terms {
	return quorum.TermsOf(min(ttl, v.Table.MaxLease()-h.Config.Delay), h.Config.Delay, h.Config.Drift)
}

// Terms returns the terms of the acquisition, or of the next renewal.
func (h *Hold) Terms() quorum.Terms {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.renewals.terms
}

// Send sends the same call to all masters.
func (h *Hold) Send(r *quorum.Round, call script.Call) {
	requests := r.Requests(len(h.lease.Masters))
	h.mu.Lock()
	for i, s := range h.lease.Masters {
		requests[i] = master.Request{Order: h.Name, Call: call, Version: r.View.Version, To: r, First: s.Answered}
	}
	h.mu.Unlock()
	r.Ask(h.holds.Masters)
}

// alive reports whether the lease is running. The caller holds mu.
func (h *Hold) alive() bool {
	return h.over.cause == nil && h.holds.Now().Before(h.lease.Until())
}

// Take records a master's answer, and returns the vote that counts in its round. If the answer takes
// back a vote that proved the lease, Take resets the timer: it fires at once if the lease is over.
func (h *Hold) Take(i int, to Question, v script.Vote, t quorum.Terms, at *membership.View) script.Vote {
	h.mu.Lock()
	now := h.holds.Now()
	counted, jumped, takenBack := h.lease.Take(i, Answer{To: to, Vote: v, Terms: t, Reads: h.Reads.Load(), Now: now}, at, h.over.cause != nil)
	if takenBack && h.renewals.timer != nil {
		h.renewals.timer.Reset(h.untilNextTick(now))
	}
	h.mu.Unlock()
	if jumped != 0 {
		h.observer.ClockJumped(h, i, jumped)
	}
	return counted
}

// Master returns the state of one master.
func (h *Hold) Master(i int) Master {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Masters[i]
}

// bound sets maxHold and atLeast for a hold of a set. Both count from now.
func (h *Hold) bound(now clock.Instant, maxHold, atLeast time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began, h.taken = now, atLeast
	if maxHold > 0 && h.over.cause == nil {
		h.lease.Limit = now.Add(maxHold)
		h.renewals.timer.Reset(h.untilNextTick(now))
	}
}

// End ends the hold and its renewal, and returns why the hold is over. The reason is cause, unless
// the hold was over before, or its lease was not running any more.
func (h *Hold) End(cause error) error {
	h.mu.Lock()
	if h.over.cause != nil {
		defer h.mu.Unlock()
		return h.over.cause
	}
	now := h.holds.Now()
	if cause != ErrLost && !now.Before(h.lease.Until()) {
		cause = h.unproved()
	}
	h.over.cause, h.over.at = cause, now
	h.over.is.Store(true)
	h.renewals.timer.Stop()
	h.cancel(cause) // with mu held: a caller that gets cause as an error finds the context done
	h.endReEntries(cause)
	entries := slices.Collect(maps.Keys(h.entries.again))
	h.mu.Unlock()
	h.entries.first.renewal.stop()
	for _, e := range entries {
		e.renewal.stop()
	}

	if cause != ErrReleased {
		h.forget() // handOver removes a released hold, together with the release
	}
	if h.set != nil {
		h.set.ended(cause)
	}
	h.observer.Ended(h, cause) // after all contexts: an observer may take long
	return cause
}

// forget removes a hold that is over from the client's holds, and unblocks the other callers.
func (h *Hold) forget() {
	if h.holds.remove(h) {
		h.Unblock()
	}
}

// handOver removes a released hold from the client's holds. It returns the next caller's
// acquisition, which must be sent with the release.
func (h *Hold) handOver() Next {
	if !h.holds.remove(h) || !h.unblocks() {
		return Next{}
	}
	return h.holds.Callers.Next(h)
}

// Unblock lets other callers of this client ask for the name. It does nothing if they already may.
func (h *Hold) Unblock() {
	if h.unblocks() {
		h.holds.Callers.Unblock(h.Name)
	}
}

// unblocks records that other callers of this client may ask for the name. It reports whether the hold
// blocked them before.
func (h *Hold) unblocks() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	did := h.blocks
	h.blocks = false
	return did
}

// unproved returns why the lease is not running. The reason is ErrLost if answers "not yours" ended
// the lease, or left no quorum. Otherwise the lease has run out, and the reason is ErrExpired. The
// caller holds mu.
func (h *Hold) unproved() error {
	if h.lease.Disowned() {
		return ErrLost
	}
	return ErrExpired
}

// Valid reports whether the lease is running now.
func (h *Hold) Valid() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alive()
}

// Left returns how much longer the lease lasts if nothing renews it, and whether the lease is running.
func (h *Hold) Left() (left time.Duration, alive bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Until().Sub(h.holds.Now()), h.alive()
}

// Until returns the time at which the lease ends if nothing renews it. If the hold ended earlier, Until returns the end
// of the hold.
func (h *Hold) Until() clock.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	until := h.lease.Until()
	if h.over.cause != nil {
		until = min(until, h.over.at)
	}
	return until
}

// Age returns the time since the hold began.
func (h *Hold) Age() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holds.Now().Sub(h.began)
}

// Blocks reports whether other callers of this client are blocked from asking for the name.
func (h *Hold) Blocks() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.blocks
}

// Held returns how long the hold lasted. The hold must be over.
func (h *Hold) Held() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over.at.Sub(h.began)
}

// OverBy ends the hold if these votes of an extension disown it, and returns why the hold is over, or nil. The
// goroutine that takes the votes ends the hold as well, but it may run later. With OverBy, the contexts end before the
// caller gets the error.
func (h *Hold) OverBy(votes []script.Vote, m quorum.Majority) error {
	if quorum.Disowned(votes, m) {
		return h.End(ErrLost)
	}
	return h.Over()
}

// Over returns why the hold is over, or nil. Over is called for each request, so it locks no mutex
// as long as the hold is not over.
func (h *Hold) Over() error {
	if !h.over.is.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over.cause
}
