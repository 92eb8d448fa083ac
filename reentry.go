package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// WithoutReentry forbids re-entry: a Lock, TryLock or Do of the name, with a context derived from the
// hold's, is refused at once, with ErrReentry. (With a mutex, the caller would wait for itself.) It
// is enough that either the hold or the new call has the option. Use it where entering twice is a
// mistake: for example, a callee uses the same lock name by chance, and does not expect that its
// caller is in the middle of something. Default: such a call re-enters the lock.
//
// A call whose context carries no lock of the name waits as always, also in the same goroutine.
func WithoutReentry() LockOption {
	return lockOption(func(l *lockConfig) { l.once = true })
}

// reenter enters a hold again: the masters are told the new depth, and a quorum
// must agree that the lock is still this owner's.
func (h *hold) reenter(ctx context.Context, cfg lockConfig) (*Lock, error) {
	c := h.client
	cfg.telling.reEnters()
	cfg.delay = h.delay
	if !cfg.ttlGiven || cfg.ttl == c.config.lock.ttl { // nobody asked for it here
		cfg.ttl, cfg.ttlGiven = min(cfg.ttl, c.maxTTL-h.delay), false
	}
	if err := c.suits(c.members.View(), &cfg); err != nil {
		return nil, err
	}
	if err := c.validateTTL(cfg.ttl, h.delay); err != nil {
		return nil, err
	}
	deadline := c.now().Add(c.requestTimeout)
	h.mu.Lock()
	switch {
	case h.ended != nil:
		defer h.mu.Unlock()
		return nil, printable.Because(ErrNotAcquired, h.ended)
	case h.depth == 0: // the last Unlock is about to end it
		h.mu.Unlock()
		return nil, printable.Because(ErrNotAcquired, ErrReleased)
	}
	if h.once || cfg.once {
		h.mu.Unlock()
		return nil, printable.Because(ErrNotAcquired, ErrReentry)
	}
	if h.Reads.Load() && !cfg.reads {
		h.mu.Unlock()
		return nil, printable.Because(ErrNotAcquired, ErrUpgrade)
	}
	h.depth++
	depth := h.depth
	if !cfg.reads {
		h.writers++
	}
	h.mu.Unlock()

	err := c.whileMembersChange(ctx, deadline, func(v *membership.View) error {
		return h.enterAgain(ctx, v, depth, cfg.ttl, deadline)
	})
	if errors.Is(err, ErrLost) {
		h.end(ErrLost)
	}
	if err == nil && !h.valid() {
		err = printable.Because(ErrNotAcquired, h.end(ErrExpired))
	}
	if err != nil {
		h.exit(!cfg.reads, nil)
		return nil, err
	}
	// ctx may have another lock's token by now.
	inner, cancel := context.WithCancelCause(h.contextIn(ctx))
	l := &Lock{h: h, ctx: inner, cancel: cancel, wish: h.wishUntil(ctx, cfg.withCtx), writes: !cfg.reads}
	h.mu.Lock()
	h.atLeast = max(h.atLeast, cfg.atLeast)
	if h.again == nil {
		h.again = make(map[*Lock]struct{})
	}
	h.again[l] = struct{}{}
	ended := h.ended
	if ended == nil && h.ceased > 0 {
		h.timer.Reset(h.untilNextTick(c.now())) // it may be renewed again
	}
	h.mu.Unlock()
	if ended != nil {
		cancel(ended)
		l.wish.stop()
	}
	return l, nil
}

// endReEntries ends the contexts of the re-entries. They do not derive from that of the first entry, which
// ends with its caller's context. The caller holds mu.
func (h *hold) endReEntries(cause error) {
	for l := range h.again {
		l.cancel(cause)
	}
}

// enterAgain asks the masters once to enter the hold again.
func (h *hold) enterAgain(ctx context.Context, v *membership.View, depth int, ttl time.Duration, deadline clock.Instant) error {
	c := h.client
	t := h.termsAt(v, ttl)
	h.mu.Lock()
	h.longest = max(h.longest, t.KeyTTL())
	h.mu.Unlock()
	asked := quorum.NewHeldRound(v)
	asked.Weigher = quorum.WeighFunc(func(i int, vote script.Vote) script.Vote { return h.take(i, lease.ToReenter, vote, t, v) })
	h.send(asked, h.ReenterCall(depth, t))
	err := c.await(ctx, asked, deadline)
	if err != nil {
		asked.Abandon()
	}
	votes := asked.Tally()
	switch {
	case err != nil:
		return c.notWaited(err, v, opReenter, h.name, votes)
	case quorum.Decide(votes, asked.Need) != quorum.Won:
		return c.notGranted(v, opReenter, h.name, votes)
	}
	return nil
}

// holdContext is the context of a hold. It tells a Lock call which holds it is
// made under.
type holdContext struct {
	context.Context
	hold *hold
}

type holdKey struct{}

// contextIn returns a context, derived from ctx, of an entry into the hold.
func (h *hold) contextIn(ctx context.Context) context.Context {
	return &holdContext{fence.WithToken(ctx, h.Token), h}
}

func (c *holdContext) Value(key any) any {
	switch {
	case key == (holdKey{}):
		return c
	case c.hold.Reads.Load():
		return fence.WithToken(c.Context, 0).Value(key) // it may have had one before a Downgrade
	}
	return c.Context.Value(key)
}

// heldBy returns the hold of name that ctx was derived from, or nil. A hold that
// was released does not count. A hold that was lost does, so that no call acquires
// the lock afresh without noticing the loss.
func heldBy(ctx context.Context, c *Client, name string) *hold {
	for {
		inner, ok := ctx.Value(holdKey{}).(*holdContext)
		if !ok {
			return nil
		}
		if h := inner.hold; h.client == c && h.name == name && h.Over() != ErrReleased {
			return h
		}
		ctx = inner.Context
	}
}
