package redlock

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// goneTTL is how long a master remembers that an owner gave up there: longer
// than a request may wait on its way, which is what go-redis's defaults need for
// their retries (four times 3 s and a dial of 5 s each).
const goneTTL = 30 * time.Second

// hold is one fresh acquisition and all re-entries into it: what every handle
// (Lock) of it shares.
type hold struct {
	lease.Owner // the token is set before begin, then constant; it reads from its first request on, or from Downgrade

	client   *Client
	name     string
	watchdog bool
	withCtx  bool // RenewWithContext, of the fresh acquisition
	once     bool // WithoutReentry
	maxHold  time.Duration
	set      *Locks // it is one of several that are held together; nil: it stands alone
	telling  *telling
	drift    float64
	delay    time.Duration // WithLockDelay
	since    clock.Instant // when this client got the name from another; 0: begin sets it
	older    *hold         // of the same name; guarded by the client's holds

	// Set by begin, then constant.
	ctx    context.Context
	cancel context.CancelCauseFunc
	wish   *wish // of the fresh acquisition's handle, or of the set's

	mu      sync.Mutex    // never held over I/O, a channel or a call of the client's
	began   clock.Instant // by begin
	atLeast time.Duration // after that it stays taken for so long; 0: not
	terms   quorum.Terms  // of the next renewal
	lease   lease.Lease
	again   map[*Lock]struct{} // the handles of re-entries that are not unlocked
	depth   int                // handles that are not unlocked, and re-entries under way
	writers int                // those of them that write
	ceased  int                // those of them that wish for no renewal any more
	blocks  bool               // other callers of this client do not ask for the name
	ended   error              // why it is over; nil while held
	endedAt clock.Instant
	timer   *time.Timer
	renewAt clock.Instant
	renewal *renewal      // the watchdog's last one
	longest time.Duration // key ttl ever asked for: after that no master has the lock
}

func newHold(c *Client, v *membership.View, name, owner string, cfg lockConfig) *hold {
	h := &hold{
		client:   c,
		name:     name,
		watchdog: cfg.watchdog,
		withCtx:  cfg.withCtx,
		once:     cfg.once,
		maxHold:  cfg.maxHold,
		set:      cfg.set,
		telling:  cfg.telling,
		atLeast:  cfg.atLeast,
		drift:    c.driftOf(v),
		delay:    cfg.delay,
		depth:    1,
	}
	h.ID, h.Keys = owner, script.KeysOf(c.prefix, name, owner)
	h.Reads.Store(cfg.reads)
	if h.set != nil {
		h.maxHold, h.atLeast = 0, 0 // finish sets them for all from the same moment
	}
	h.terms = h.termsAt(v, cfg.ttl)
	h.lease.Init(v, len(c.masters))
	h.longest = h.terms.KeyTTL()
	return h
}

// send sends the same call to all masters.
func (h *hold) send(r *quorum.Round, call script.Call) {
	requests := r.Requests(len(h.lease.Masters))
	h.mu.Lock()
	for i, s := range h.lease.Masters {
		requests[i] = master.Request{Order: h.name, Call: call, Version: r.View.Version, To: r, First: s.Answered}
	}
	h.mu.Unlock()
	r.Ask(h.client.masters)
}

// count takes the votes of the acquisition, and returns until when a quorum of
// those that stand at the token is valid.
func (h *hold) count(votes, standing []script.Vote) clock.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease.Acquire(votes, standing, h.terms, h.client.now())
}

// alive reports whether the lease is running. The caller holds mu.
func (h *hold) alive() bool {
	return h.ended == nil && h.client.now().Before(h.lease.Until())
}

// take notes a master's answer, and returns what counts of it in its round. If the answer takes back what
// proved the lease, the hold is over, and the timer fires at once to say so.
func (h *hold) take(i int, to lease.Question, v script.Vote, t quorum.Terms, at *membership.View) script.Vote {
	h.mu.Lock()
	now := h.client.now()
	counted, jumped, takenBack := h.lease.Take(i, lease.Answer{To: to, Vote: v, Terms: t, Reads: h.Reads.Load(), Now: now}, at, h.ended != nil)
	if takenBack && h.timer != nil {
		h.timer.Reset(h.untilNextTick(now))
	}
	h.mu.Unlock()
	if jumped != 0 {
		h.tellJump(i, jumped)
	}
	return counted
}

// begin makes the acquisition a hold: from here on it has a context, a watchdog,
// and receives the votes of the stragglers itself.
func (h *hold) begin(ctx context.Context, asked *quorum.Round) *Lock {
	// The caller's context may have a method AfterFunc, and cancel is called with mu held: contextIn hides that.
	h.ctx, h.cancel = context.WithCancelCause(h.contextIn(ctx))
	h.wish = h.wishUntil(ctx, h.withCtx)
	now := h.client.now()
	h.mu.Lock()
	if h.since == 0 {
		h.since = now
	}
	h.began = now
	if h.maxHold > 0 {
		h.lease.Limit = now.Add(h.maxHold)
	}
	h.renewAt = now.Add(h.terms.TTL / renewals)
	h.timer = time.AfterFunc(h.untilNextTick(now), h.tick)
	t := h.terms
	if !h.Reads.Load() {
		h.writers, h.blocks = 1, true
	}
	blocks := h.blocks
	h.mu.Unlock()
	if blocks {
		h.client.queues.Block(h.name)
	}
	h.client.holds.add(h)
	if h.Over() != nil {
		h.client.forget(h) // it ended before it was there to be removed
	}
	if h.set != nil {
		h.set.joined(h)
	}
	h.client.suspend.start(h.client)

	late := func(i int, v script.Vote) script.Vote {
		h.take(i, lease.ToAcquire, v, t, asked.View)
		return v
	}
	asked.Receive(false, late)
	return &Lock{h: h, ctx: h.ctx, cancel: func(error) {}, wish: h.wish, writes: blocks}
}

// bound makes the bounds of a set's hold count from now.
func (h *hold) bound(now clock.Instant, cfg lockConfig) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.began, h.atLeast = now, cfg.atLeast
	if cfg.maxHold > 0 && h.ended == nil {
		h.lease.Limit = now.Add(cfg.maxHold)
		h.timer.Reset(h.untilNextTick(now))
	}
}

// end ends the hold, once, and returns why it is over: cause, or the cause that
// came before it. Renewal has stopped when end returns.
func (h *hold) end(cause error) error {
	h.mu.Lock()
	if h.ended != nil {
		defer h.mu.Unlock()
		return h.ended
	}
	now := h.client.now()
	if cause != ErrLost && !now.Before(h.lease.Until()) {
		cause = h.unproved()
	}
	h.ended, h.endedAt = cause, now
	h.timer.Stop()
	h.cancel(cause) // with mu held: a caller that gets ended as an error finds the context done
	h.endReEntries(cause)
	entries := slices.Collect(maps.Keys(h.again))
	h.mu.Unlock()
	h.wish.stop()
	for _, l := range entries {
		l.wish.stop()
	}

	if cause != ErrReleased {
		h.client.forget(h) // else handOver does it, with the release
	}
	if h.set != nil {
		h.set.ended(cause)
	}
	h.tellEnded(cause) // after all contexts: an observer may take its time
	return cause
}

// unblocks reports, once, that other callers of this client may ask for the name now, and
// could not before.
func (h *hold) unblocks() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	did := h.blocks
	h.blocks = false
	return did
}

// unproved returns why a lease is not running: ErrLost if it would be, had masters not said "not yours", or if
// those that did not are no quorum; else ErrExpired, because its time ran out (and the timer is late: the process
// was stopped, or busy). The caller holds mu.
func (h *hold) unproved() error {
	if h.lease.Disowned() {
		return ErrLost
	}
	return ErrExpired
}

// valid reads the clock.
func (h *hold) valid() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alive()
}

// over returns why the hold is over, or nil.
func (h *hold) Over() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}
