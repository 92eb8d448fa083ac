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

// Hold is one fresh acquisition and all re-entries into it: what all entries share. doc.go has its
// states: an acquisition has neither origin, cancel and began, nor a timer; a hold that is over has
// over.cause, and entries only until they are unlocked.
type Hold struct {
	Owner  // its token is set before Begin, then constant; whether it reads, before its first request, or by Downgrade
	Name   string
	Config Config        // constant
	Since  clock.Instant // when this client got the name from another; 0: Begin sets it

	holds  *Holds
	origin origin                  // set by Begin, then constant
	cancel context.CancelCauseFunc // likewise
	siblings

	mu       sync.Mutex    // never held over I/O, a channel or a call of the client's
	began    clock.Instant // by Begin
	taken    time.Duration // from then on the name stays taken for so long, even if the hold ends; 0: it does not
	lease    Lease
	longest  time.Duration // key ttl ever asked for: after that no master has the lock
	offer    offer
	entries  entries
	renewals renewals
	blocks   bool // other callers of this client do not ask for the name
	over     end
}

// origin is how a hold was acquired.
type origin struct {
	view  *membership.View
	terms quorum.Terms
}

// siblings are the holds of the same name before and after this one; nil: there is none. Guarded by
// the mu of Holds.
type siblings struct{ older, newer *Hold }

// offer is what a hold's acquisition let the masters do: to grant it by a release.
type offer struct {
	channel *string       // of the client, on which they publish that; nil: they may not
	since   clock.Instant // before they were asked
}

// end is how a hold ended.
type end struct {
	cause error       // nil: it has not
	is    atomic.Bool // cause is set; read without mu
	at    clock.Instant
}

// termsAt returns the terms of all that asks for a lease at a view. It never makes them longer than
// the deployment allows, whatever was checked before: no master may keep a lock for longer than the
// max ttl, because a member that takes the place of another sits out only that long.
func (h *Hold) termsAt(v *membership.View, ttl time.Duration) quorum.Terms {
	return quorum.TermsOf(min(ttl, v.Table.MaxLease()-h.Config.Delay), h.Config.Delay, h.Config.Drift)
}

// Terms are those of the acquisition, or of the next renewal.
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

// Take notes a master's answer, and returns what counts of it in its round. If the answer takes
// back what proved the lease, the hold is over, and the timer fires at once to say so.
func (h *Hold) Take(i int, to Question, v script.Vote, t quorum.Terms, at *membership.View) script.Vote {
	h.mu.Lock()
	now := h.holds.Now()
	counted, jumped, takenBack := h.lease.Take(i, Answer{To: to, Vote: v, Terms: t, Reads: h.Reads.Load(), Now: now}, at, h.over.cause != nil)
	if takenBack && h.renewals.timer != nil {
		h.renewals.timer.Reset(h.untilNextTick(now))
	}
	h.mu.Unlock()
	if jumped != 0 {
		h.Config.Observer.ClockJumped(h, i, jumped)
	}
	return counted
}

// Master is what is known of one master.
func (h *Hold) Master(i int) Master {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Masters[i]
}

// bound makes the bounds of a set's hold count from now.
func (h *Hold) bound(now clock.Instant, maxHold, atLeast time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began, h.taken = now, atLeast
	if maxHold > 0 && h.over.cause == nil {
		h.lease.Limit = now.Add(maxHold)
		h.renewals.timer.Reset(h.untilNextTick(now))
	}
}

// End ends the hold, once, and returns why it is over: cause, or the cause that came before it.
// Renewal has stopped when End returns.
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
	h.cancel(cause) // with mu held: a caller that gets ended as an error finds the context done
	h.endReEntries(cause)
	entries := slices.Collect(maps.Keys(h.entries.again))
	h.mu.Unlock()
	h.entries.first.renewal.stop()
	for _, e := range entries {
		e.renewal.stop()
	}

	if cause != ErrReleased {
		h.forget() // else handOver does it, with the release
	}
	if h.Config.Set != nil {
		h.Config.Set.ended(cause)
	}
	h.Config.Observer.Ended(h, cause) // after all contexts: an observer may take its time
	return cause
}

// forget ends it for the other callers of this client.
func (h *Hold) forget() {
	if h.holds.remove(h) {
		h.Unblock()
	}
}

// handOver is forget for a hold that is released: it returns the acquisition of the caller whose
// turn it is then.
func (h *Hold) handOver() Next {
	if !h.holds.remove(h) || !h.unblocks() {
		return Next{}
	}
	return h.holds.Callers.Next(h)
}

// Unblock lets other callers of this client ask for the name, unless they can already.
func (h *Hold) Unblock() {
	if h.unblocks() {
		h.holds.Callers.Unblock(h.Name)
	}
}

// unblocks reports, once, that other callers of this client may ask for the name now, and could not
// before.
func (h *Hold) unblocks() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	did := h.blocks
	h.blocks = false
	return did
}

// unproved returns why a lease is not running: ErrLost if it would be, had masters not said "not
// yours", or if those that did not are no quorum; else ErrExpired, because its time ran out (and
// the timer is late: the process was stopped, or busy). The caller holds mu.
func (h *Hold) unproved() error {
	if h.lease.Disowned() {
		return ErrLost
	}
	return ErrExpired
}

// Valid reads the clock, and reports whether the hold is proved.
func (h *Hold) Valid() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alive()
}

// Left is how long the lease lasts if nothing renews it, and whether it is running.
func (h *Hold) Left() (left time.Duration, alive bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Until().Sub(h.holds.Now()), h.alive()
}

// Until is when the lease ends if nothing renews it, or when the hold ended, if that was earlier.
func (h *Hold) Until() clock.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	until := h.lease.Until()
	if h.over.cause != nil {
		until = min(until, h.over.at)
	}
	return until
}

// Age is how long it has been held.
func (h *Hold) Age() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.holds.Now().Sub(h.began)
}

// Blocks reports that other callers of this client do not ask for the name.
func (h *Hold) Blocks() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.blocks
}

// Held is how long a hold that is over lasted.
func (h *Hold) Held() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over.at.Sub(h.began)
}

// OverBy ends the hold if these votes of an extension disown it, and returns why it is over, or
// nil. So whoever is told finds its contexts ended, also if the round's own goroutine, which ends
// it as well, has not come to that.
func (h *Hold) OverBy(votes []script.Vote, m quorum.Majority) error {
	if quorum.Disowned(votes, m) {
		return h.End(ErrLost)
	}
	return h.Over()
}

// Over returns why the hold is over, or nil. It is asked for each request, and takes no mutex while
// the hold is not over.
func (h *Hold) Over() error {
	if !h.over.is.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.over.cause
}
