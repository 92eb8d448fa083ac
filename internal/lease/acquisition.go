package lease

import (
	"context"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// Acquisition is a hold that has not begun. Begin begins it. Undo gives back what a master granted.
type Acquisition struct{ *Hold }

// Config has the settings of a hold.
type Config struct {
	TTL       time.Duration
	Delay     time.Duration // how much longer than the ttl the masters keep the lock
	Drift     float64
	MaxHold   time.Duration // the hold lasts no longer; 0: no bound. In a set, this time counts from Complete
	AtLeast   time.Duration // the name stays taken at least for this time; 0: no minimum. In a set, this time counts from Complete
	Reads     bool
	Watchdog  bool // the hold is renewed
	WithCtx   bool // the hold is renewed only until the context of the acquisition ends
	NoReentry bool
}

// New returns a hold for a name. It has no votes yet. If set is not nil, the hold belongs to this set.
func (s *Holds) New(v *membership.View, name, owner string, c Config, set *Set, o Observer) Acquisition {
	h := &Hold{Name: name, Config: c, holds: s, set: set, observer: o, taken: c.AtLeast}
	h.entries.depth = 1
	if set != nil {
		h.Config.MaxHold, h.taken = 0, 0 // Complete sets both, for all holds of the set at the same moment
	}
	h.ID, h.Keys = owner, script.KeysOf(s.Prefix, name, owner)
	h.Reads.Store(c.Reads)
	h.renewals.terms = h.termsAt(v, c.TTL)
	h.lease.Init(v, len(s.Masters))
	h.longest, h.renewals.pace = h.renewals.terms.KeyTTL(), h.renewals.terms.TTL
	return Acquisition{h}
}

// Offer adds an offer to the given place (Takes: the ttl of a lease that a release may grant), and returns the place.
// This lease is short, so Offer adds nothing if the hold will not be renewed. Call Offer before any request is sent,
// and send the acquire with the returned place.
func (h Acquisition) Offer(in Place) Place {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.Config.Watchdog || h.Config.WithCtx || h.set != nil || h.Config.Delay > 0 || h.Reads.Load() {
		return in
	}
	h.lease.Given, h.offer.channel, h.offer.since = h.renewals.terms.Given(h.Config.Drift), in.Channel, h.holds.Now()
	in.Takes = h.lease.Given.KeyTTL()
	return in
}

// Count takes the votes of the acquisition, and sets the time of the first renewal. It reports whether a quorum of
// votes that stand at the token proves a lease that is long enough.
func (h Acquisition) Count(votes, atToken []script.Vote) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.holds.Now()
	until := h.lease.Acquire(votes, atToken, h.renewals.terms, now)
	terms, given := h.renewals.terms, slices.ContainsFunc(votes, func(v script.Vote) bool { return v.Given })
	if given {
		terms = h.lease.Given
	}
	h.renewBy(terms, until, now)
	if given {
		h.renewals.at = min(h.renewals.at, now.Add(RenewGiven))
	}
	return until.Sub(now) >= terms.MinLeft()
}

// Undo asks master i to undo its grant, or a failed acquisition. It sends nothing if the master has answered, has no
// grant, and cannot grant later. The undo returns the client to the given place in the master's queue. With the zero
// Place, it does not. The acquisition may go on: the master has no vote until the undo is answered.
func (h Acquisition) Undo(i int, in Place) {
	a := &asker{hold: h.Hold, want: want{aim: toGiveUp, queues: in.Waits()}, in: in}
	if a.Obsolete(i, true) {
		return
	}
	now := h.holds.Now()
	h.mu.Lock()
	h.lease.Masters[i].Undoing = true
	request := a.request(i, undone{hold: h.Hold}, now)
	h.mu.Unlock()
	request.First = true
	h.holds.Masters[i].Submit(&request)
}

// undone receives the answer to an undo.
type undone struct {
	master.Nobody
	hold *Hold
}

// Answer records that no copy of the undo can be executed any more. If the undo was sent again, or failed, this is
// never known.
func (u undone) Answer(i int, v script.Vote) {
	if v.MayArrive || v.Answer != script.Granted && !v.NotMine() {
		return
	}
	u.hold.mu.Lock()
	defer u.hold.mu.Unlock()
	u.hold.lease.Masters[i].Undoing = false
}

// Begin starts the hold, with its first entry, its context and its watchdog. From then on the hold
// receives the votes that come late.
func (h Acquisition) Begin(ctx context.Context, asked *quorum.Round) *Entry {
	// contextIn hides a method AfterFunc that the caller's context may have. Otherwise cancel,
	// which is called with mu held, would call this method.
	inner, cancel := context.WithCancelCause(h.contextIn(ctx))
	h.cancel = cancel
	h.entries.first = Entry{hold: h.Hold, ctx: inner, cancel: func(error) {}, renewal: h.renewUntil(ctx, h.Config.WithCtx)}
	now := h.holds.Now()
	h.mu.Lock()
	if h.Since == 0 {
		h.Since = now
	}
	h.began = now
	if h.Config.MaxHold > 0 {
		h.lease.Limit = now.Add(h.Config.MaxHold)
	}
	h.renewals.timer = time.AfterFunc(h.untilNextTick(now), h.tick)
	h.origin.terms, h.origin.view = h.renewals.terms, asked.View
	if !h.Reads.Load() {
		h.entries.writers, h.blocks = 1, true
	}
	blocks := h.blocks
	h.entries.first.writes = blocks
	h.mu.Unlock()
	if blocks {
		h.holds.Callers.Block(h.Name)
	}
	h.holds.add(h.Hold)
	if h.Over() != nil {
		h.forget() // it ended before it was added
	}
	if h.set != nil {
		h.set.joined(h.Hold)
	}
	h.holds.suspend.start(h.holds)

	asked.Receive(false, h.takeLate)
	return &h.entries.first
}

// takeLate takes a vote that arrives after the acquisition is decided.
func (h *Hold) takeLate(i int, v script.Vote) script.Vote {
	h.Take(i, ToAcquire, v, h.origin.terms, h.origin.view)
	return v
}

// GivenVote returns the vote for a notice that a release granted the lock. The time of the grant is not
// known. So the vote counts from a time that is certainly earlier: before the owner's request was sent.
func (h *Hold) GivenVote(grant int64) script.Vote {
	h.mu.Lock()
	defer h.mu.Unlock()
	return script.Vote{Answered: true, Answer: script.Granted, Given: true, Grant: grant, Sent: h.offer.since, Got: h.holds.Now()}
}

// GivenLate takes the vote for a notice that comes after the acquisition is decided.
func (h *Hold) GivenLate(master int, grant int64) { h.takeLate(master, h.GivenVote(grant)) }
