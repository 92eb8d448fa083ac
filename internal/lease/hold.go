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

// Hold is one fresh acquisition and all re-entries into it: what all entries share.
type Hold struct {
	Owner // its token is set before Begin, then constant; whether it reads, before its first request, or by Downgrade
	Name  string
	Delay time.Duration // for how much longer the masters keep the lock
	Since clock.Instant // when this client got the name from another; 0: Begin sets it

	holds    *Holds
	observer Observer
	set      *Set // it is one of several that are held together; nil: it stands alone
	watchdog bool
	withCtx  bool // of the fresh acquisition
	once     bool
	maxHold  time.Duration
	drift    float64
	older    *Hold // of the same name; guarded by the holds, as newer is
	newer    *Hold // nil: it is the latest

	// Set by Begin, then constant.
	first  Entry // the fresh acquisition, or the set's
	cancel context.CancelCauseFunc
	asked  *membership.View // at which it was acquired
	by     quorum.Terms     // by which it was

	mu        sync.Mutex    // never held over I/O, a channel or a call of the client's
	began     clock.Instant // by Begin
	atLeast   time.Duration // after that it stays taken for so long; 0: not
	terms     quorum.Terms  // of the next renewal
	pace      time.Duration // by which it is renewed: the ttl, or what was left of the lease if that was less
	offers    *string       // the client's channel, if masters were told that a release may grant it
	offered   clock.Instant // before they were told
	lease     Lease
	again     map[*Entry]struct{} // the re-entries that are not unlocked
	depth     int                 // entries that are not unlocked, and re-entries under way
	writers   int                 // those of them that write
	unrenewed int                 // those of them whose context has ended: they ask for no renewal
	blocks    bool                // other callers of this client do not ask for the name
	ended     error               // why it is over; nil while held
	isOver    atomic.Bool         // ended is set; read without mu
	endedAt   clock.Instant
	timer     *time.Timer
	renewAt   clock.Instant
	renewal   *renewal      // the watchdog's last one
	longest   time.Duration // key ttl ever asked for: after that no master has the lock
}

// Config is what a hold is to be.
type Config struct {
	TTL       time.Duration
	Delay     time.Duration // for how much longer the masters keep the lock
	Drift     float64
	MaxHold   time.Duration // it ends then at the latest; 0: no bound. In a set, Complete sets it
	AtLeast   time.Duration // the name stays taken until then; 0: not. In a set, Complete sets it
	Reads     bool
	Watchdog  bool // it is renewed
	WithCtx   bool // but only as long as the context of the acquisition lasts
	NoReentry bool
	Set       *Set // nil: it stands alone
	Observer  Observer
}

// New returns a hold of a name, which has no votes yet.
func (s *Holds) New(v *membership.View, name, owner string, c Config) *Hold {
	h := &Hold{
		Name:     name,
		Delay:    c.Delay,
		holds:    s,
		observer: c.Observer,
		set:      c.Set,
		watchdog: c.Watchdog,
		withCtx:  c.WithCtx,
		once:     c.NoReentry,
		maxHold:  c.MaxHold,
		atLeast:  c.AtLeast,
		drift:    c.Drift,
		depth:    1,
	}
	h.ID, h.Keys = owner, script.KeysOf(s.Prefix, name, owner)
	h.Reads.Store(c.Reads)
	if h.set != nil {
		h.maxHold, h.atLeast = 0, 0 // Complete sets them for all from the same moment
	}
	h.terms = h.termsAt(v, c.TTL)
	h.lease.Init(v, len(s.Masters))
	h.longest, h.pace = h.terms.KeyTTL(), h.terms.TTL
	return h
}

// termsAt returns the terms of all that asks for a lease at a view. It never makes them longer than
// the deployment allows, whatever was checked before: no master may keep a lock for longer than the
// max ttl, because a member that takes the place of another sits out only that long.
func (h *Hold) termsAt(v *membership.View, ttl time.Duration) quorum.Terms {
	return quorum.TermsOf(min(ttl, v.Table.MaxLease()-h.Delay), h.Delay, h.drift)
}

// Terms are those of the acquisition, or of the next renewal.
func (h *Hold) Terms() quorum.Terms {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.terms
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

// Offer returns the place with what a release may grant: a lease that is short, and so only one
// that is renewed. No request may have left yet, and the acquire has to have that place.
func (h *Hold) Offer(in Place) Place {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.watchdog || h.withCtx || h.set != nil || h.Delay > 0 || h.Reads.Load() {
		return in
	}
	h.lease.Given, h.offers, h.offered = h.terms.Given(h.drift), in.Channel, h.holds.Now()
	in.Takes = h.lease.Given.KeyTTL()
	return in
}

// Count takes the votes of the acquisition, and sets when the lease is renewed first. It reports
// whether a quorum of those that stand at the token is valid for long enough.
func (h *Hold) Count(votes, standing []script.Vote) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.holds.Now()
	until := h.lease.Acquire(votes, standing, h.terms, now)
	terms, given := h.terms, slices.ContainsFunc(votes, func(v script.Vote) bool { return v.Given })
	if given {
		terms = h.lease.Given
	}
	h.renewBy(terms, until, now)
	if given {
		h.renewAt = min(h.renewAt, now.Add(RenewGiven))
	}
	return until.Sub(now) >= terms.MinLeft()
}

// alive reports whether the lease is running. The caller holds mu.
func (h *Hold) alive() bool {
	return h.ended == nil && h.holds.Now().Before(h.lease.Until())
}

// Take notes a master's answer, and returns what counts of it in its round. If the answer takes
// back what proved the lease, the hold is over, and the timer fires at once to say so.
func (h *Hold) Take(i int, to Question, v script.Vote, t quorum.Terms, at *membership.View) script.Vote {
	h.mu.Lock()
	now := h.holds.Now()
	counted, jumped, takenBack := h.lease.Take(i, Answer{To: to, Vote: v, Terms: t, Reads: h.Reads.Load(), Now: now}, at, h.ended != nil)
	if takenBack && h.timer != nil {
		h.timer.Reset(h.untilNextTick(now))
	}
	h.mu.Unlock()
	if jumped != 0 {
		h.observer.ClockJumped(h, i, jumped)
	}
	return counted
}

// Master is what is known of one master.
func (h *Hold) Master(i int) Master {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Masters[i]
}

// Begin makes the acquisition a hold, with its first entry: from here on it has a context, a
// watchdog, and receives the votes of the stragglers itself.
func (h *Hold) Begin(ctx context.Context, asked *quorum.Round) *Entry {
	// The caller's context may have a method AfterFunc, and cancel is called with mu held:
	// contextIn hides that.
	inner, cancel := context.WithCancelCause(h.contextIn(ctx))
	h.cancel = cancel
	h.first = Entry{hold: h, ctx: inner, cancel: func(error) {}, renewal: h.renewUntil(ctx, h.withCtx)}
	now := h.holds.Now()
	h.mu.Lock()
	if h.Since == 0 {
		h.Since = now
	}
	h.began = now
	if h.maxHold > 0 {
		h.lease.Limit = now.Add(h.maxHold)
	}
	h.timer = time.AfterFunc(h.untilNextTick(now), h.tick)
	h.by, h.asked = h.terms, asked.View
	if !h.Reads.Load() {
		h.writers, h.blocks = 1, true
	}
	blocks := h.blocks
	h.first.writes = blocks
	h.mu.Unlock()
	if blocks {
		h.holds.Callers.Block(h.Name)
	}
	h.holds.add(h)
	if h.Over() != nil {
		h.forget() // it ended before it was there to be removed
	}
	if h.set != nil {
		h.set.joined(h)
	}
	h.holds.suspend.start(h.holds)

	asked.Receive(false, h.takeLate)
	return &h.first
}

// takeLate takes a vote for the acquisition that comes when that is decided.
func (h *Hold) takeLate(i int, v script.Vote) script.Vote {
	h.Take(i, ToAcquire, v, h.by, h.asked)
	return v
}

// GivenVote is the vote of a master that granted by a release, as a notice tells now. It counts
// from before the owner's request left: the grant came after that, and nobody knows how long ago.
func (h *Hold) GivenVote(grant int64) script.Vote {
	h.mu.Lock()
	defer h.mu.Unlock()
	return script.Vote{Answered: true, Answer: script.Granted, Given: true, Grant: grant, Sent: h.offered, Got: h.holds.Now()}
}

// GivenLate takes such a vote for an acquisition that was decided before.
func (h *Hold) GivenLate(master int, grant int64) { h.takeLate(master, h.GivenVote(grant)) }

// bound makes the bounds of a set's hold count from now.
func (h *Hold) bound(now clock.Instant, maxHold, atLeast time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began, h.atLeast = now, atLeast
	if maxHold > 0 && h.ended == nil {
		h.lease.Limit = now.Add(maxHold)
		h.timer.Reset(h.untilNextTick(now))
	}
}

// End ends the hold, once, and returns why it is over: cause, or the cause that came before it.
// Renewal has stopped when End returns.
func (h *Hold) End(cause error) error {
	h.mu.Lock()
	if h.ended != nil {
		defer h.mu.Unlock()
		return h.ended
	}
	now := h.holds.Now()
	if cause != ErrLost && !now.Before(h.lease.Until()) {
		cause = h.unproved()
	}
	h.ended, h.endedAt = cause, now
	h.isOver.Store(true)
	h.timer.Stop()
	h.cancel(cause) // with mu held: a caller that gets ended as an error finds the context done
	h.endReEntries(cause)
	entries := slices.Collect(maps.Keys(h.again))
	h.mu.Unlock()
	h.first.renewal.stop()
	for _, e := range entries {
		e.renewal.stop()
	}

	if cause != ErrReleased {
		h.forget() // else handOver does it, with the release
	}
	if h.set != nil {
		h.set.ended(cause)
	}
	h.observer.Ended(h, cause) // after all contexts: an observer may take its time
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
	if h.ended != nil {
		until = min(until, h.endedAt)
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
	return h.endedAt.Sub(h.began)
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
	if !h.isOver.Load() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}
