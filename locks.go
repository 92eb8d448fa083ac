package redlock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/unwind"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Locks is a handle on several names that are held together: see LockAll. Its methods
// may be called from several goroutines. As with Lock, it is not safe to assume that
// the names are held until Unlock.
//
// A failed acquisition returns a nil *Locks. Its methods do nothing: they return an
// error that is ErrNotAcquired, or the zero value.
type Locks struct {
	_      noCopy
	client *Client
	names  []string // in order
	cfg    lockConfig
	ticket waitqueue.Ticket // of the first wait, for all of them; only LockAll's goroutine looks at it

	base   context.Context // of the holds, ends with the first that is lost
	cancel context.CancelCauseFunc
	ctx    context.Context // set when all names are held, then constant

	mu       sync.Mutex    // held over no call
	holds    []*lease.Hold // that there are so far, or were
	live     int           // of them are not over
	complete bool
	over     error // why it is lost
	unlocked bool
	renewAt  clock.Instant // not to be renewed before
}

// errNoLocks is what a nil *Locks returns.
var errNoLocks = fmt.Errorf("%w: the *Locks is nil", ErrNotAcquired)

// newLocks returns a set that has nothing yet.
func (c *Client) newLocks(ctx context.Context, names []string, cfg lockConfig, ticket waitqueue.Ticket) *Locks {
	s := &Locks{client: c, names: names, cfg: cfg, ticket: ticket}
	s.base, s.cancel = context.WithCancelCause(ctx)
	s.cfg.set = s
	return s
}

// set is told of the holds of a set.
type set struct{ *Locks }

// Joined is called for each hold that begins.
func (s set) Joined(h *lease.Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = append(s.holds, h)
	s.live++
}

// Ended is called for each hold that is over. If one hold is lost, all are: the
// others are released.
func (s set) Ended(cause error) {
	s.mu.Lock()
	s.live--
	last := s.complete && s.live == 0
	lost := cause != ErrReleased && s.over == nil
	if lost {
		s.over = cause
	}
	over := s.over
	holds := slices.Clone(s.holds)
	s.mu.Unlock()
	switch {
	case over != nil: // also by the last: who was first may not have come to it yet
		s.cancel(over)
		for _, h := range holds {
			h.EndReEntries(over)
		}
	case last:
		s.cancel(ErrReleased)
	}
	if !lost || !s.client.begin() { // Close ends and releases all holds by itself
		return
	}
	defer s.client.calls.Done()
	holds = slices.DeleteFunc(holds, func(h *lease.Hold) bool { return h.Over() != nil })
	s.client.gather(func() { lease.EndEach(holds, cause) })
}

// finish makes a handle for a set that has all its names. The bounds of the handle
// (WithMaxHold, WithHoldAtLeast) count from here, and not from when the first name was
// acquired.
func (s *Locks) finish(cfg lockConfig) (*Locks, error) {
	now := s.client.now()
	s.mu.Lock()
	s.complete = true
	over := s.over
	holds := slices.Clone(s.holds)
	s.mu.Unlock()
	if over != nil {
		s.abandon()
		return nil, printable.Because(ErrNotAcquired, over)
	}
	// Only the caller knows which of the tokens a guard must see.
	s.ctx = fence.WithToken(s.base, 0)
	for _, h := range holds {
		if h.Over() == nil {
			h.Bound(now, cfg.maxHold, cfg.atLeast)
			s.ctx = h.NewContext(s.ctx)
		}
	}
	return s, nil
}

// begin makes holds of the attempts. If an observer does not return, it gives up those that
// come after.
func (s *Locks) begin(attempts []*attempt, votes [][]script.Vote) {
	for i, a := range attempts {
		unwind.OrElse(func() { a.begin(s.base, votes[i]) }, func() {
			for _, rest := range attempts[i+1:] {
				rest.giveUp(nowhere)
			}
		})
	}
}

// abandon gives back the names of a set that did not get all its names.
func (s *Locks) abandon() {
	if s.none() {
		return
	}
	s.exit()
	s.cancel(ErrNotAcquired)
}

// exit leaves all holds that are not over, and returns the masters' answers to come.
func (s *Locks) exit() (held []*lease.Hold, freed []*quorum.Round, ended error) {
	s.mu.Lock()
	all := slices.Clone(s.holds)
	s.mu.Unlock()
	s.client.gather(func() {
		leaveEach(all, func(h *lease.Hold, r *quorum.Round, err error) {
			if err != nil {
				ended = err
			}
			held, freed = append(held, h), append(freed, r)
		})
	})
	return held, freed, ended
}

// leaveEach leaves all holds, also when an observer does not return from one of them.
func leaveEach(holds []*lease.Hold, left func(*lease.Hold, *quorum.Round, error)) {
	for i, h := range holds {
		unwind.OrElse(func() {
			r, err := h.Leave()
			left(h, r, err)
		}, func() { leaveEach(holds[i+1:], left) })
	}
}

// Renew renews all holds of a set, in one batch for each master. It is called when the
// renewal of one of them is due. The timers of the others fire at the
// same time, and find nothing to do.
func (s set) Renew(now clock.Instant, pause time.Duration) {
	s.mu.Lock()
	if now.Before(s.renewAt) {
		s.mu.Unlock()
		return
	}
	s.renewAt = now.Add(pause)
	holds := slices.Clone(s.holds)
	s.mu.Unlock()
	s.client.gather(func() {
		for _, h := range holds {
			h.Renew(now)
		}
	})
}

func (s *Locks) none() bool { return s == nil || s.client == nil }

// String returns the names and tokens, for logs.
func (s *Locks) String() string {
	if s.none() {
		return "no locks"
	}
	var all []string
	for _, name := range s.names {
		all = append(all, fmt.Sprintf("%q, token %v", name, s.Token(name)))
	}
	return "locks " + strings.Join(all, "; ")
}

// Names returns the names that were locked, in order.
func (s *Locks) Names() []string {
	if s.none() {
		return nil
	}
	return slices.Clone(s.names)
}

// Token returns the fencing token of the hold of name; 0 if that is none of the names.
// Tokens of different names say nothing about each other.
func (s *Locks) Token(name string) fence.Token {
	if s.none() {
		return 0
	}
	return s.Tokens()[name]
}

// Tokens returns the fencing token of each name.
func (s *Locks) Tokens() map[string]fence.Token {
	if s.none() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tokens := make(map[string]fence.Token, len(s.names))
	for _, h := range s.holds {
		tokens[h.Name] = h.Token
	}
	return tokens
}

// Context returns a context, derived from the one given to LockAll, that ends as soon as
// the hold of one of the names can no longer be proved, as Lock.Context tells. The other
// names are released then. It carries no token, because a guard could take it for that
// of another name: use fence.WithToken and Token.
//
// A Lock or TryLock of one of the names with a context derived from this one re-enters
// its hold.
func (s *Locks) Context() context.Context {
	if s.none() {
		return nil
	}
	return s.ctx
}

// Until returns the earliest of the ends that Lock.Until would return for the names.
// It is for people to read: use Valid to decide.
func (s *Locks) Until() time.Time {
	var first time.Time
	for _, h := range s.all() {
		if until := s.client.timeOf(h.Until()); first.IsZero() || until.Before(first) {
			first = until
		}
	}
	return first
}

// Valid reads the clock and reports whether the holds of all names can be proved at this
// moment.
func (s *Locks) Valid() bool {
	if s.none() {
		return false
	}
	s.mu.Lock()
	out := s.unlocked || s.over != nil
	s.mu.Unlock()
	return !out && !slices.ContainsFunc(s.all(), func(h *lease.Hold) bool { return !h.Valid() })
}

// all returns the holds of the names.
func (s *Locks) all() []*lease.Hold {
	if s.none() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.holds)
}

// Extend makes the lease of each name last at least ttl from now, as Lock.Extend does for
// one. When it fails for some names, the leases of the others may be longer than they were.
func (s *Locks) Extend(ctx context.Context, ttl time.Duration) error {
	if s.none() {
		return errNoLocks
	}
	c, holds := s.client, s.all()
	c.check(ctx)
	ttl, err := c.mayExtend(holds[0], ttl)
	if err != nil {
		return err
	}
	s.mu.Lock()
	unlocked, over := s.unlocked, s.over
	s.mu.Unlock()
	switch {
	case unlocked:
		return ErrReleased
	case over != nil:
		return over
	case ctx.Err() != nil:
		return printable.ContextError(ctx)
	}
	for _, h := range holds {
		if !h.Valid() {
			return h.End(ErrExpired)
		}
	}
	deadline := c.now().Add(c.requestTimeout)
	return c.whileMembersChange(ctx, deadline, func(v *membership.View) error {
		asked := make([]*quorum.Round, len(holds))
		c.gather(func() {
			for i, h := range holds {
				asked[i] = h.Extend(v, ttl)
			}
		})
		var errs []error
		for i, h := range holds {
			errs = append(errs, c.awaitExtended(ctx, h, opExtend, asked[i], ttl, deadline))
		}
		return printable.Join(errs...)
	})
}

// Unlock leaves all names. It returns as Lock.Unlock does, when for each of them a quorum
// of masters has freed it. Names that were re-entered stay held until those handles are
// unlocked too.
//
// Errors: ErrReleased on a second call; ErrExpired or ErrLost if the hold of one name was
// over before, and so those of all; a *QuorumError with ErrNoQuorum for each name for
// which not enough masters answered (its hold is over here all the same).
func (s *Locks) Unlock(ctx context.Context) error {
	if s.none() {
		return errNoLocks
	}
	if c := s.client; c.observer.Unlocked != nil {
		return c.tellUnlock(ctx, s.leave, UnlockResult{Names: s.Names(), Set: true})
	}
	return s.leave()
}

func (s *Locks) leave() error {
	c := s.client
	s.mu.Lock()
	again := s.unlocked
	s.unlocked = true
	s.mu.Unlock()
	if again {
		return ErrReleased
	}
	var held []*lease.Hold
	var freed []*quorum.Round
	_, ended := c.unlocking(func() (r *quorum.Round, err error) {
		held, freed, err = s.exit()
		return nil, err
	})
	s.mu.Lock()
	over := s.over
	s.mu.Unlock()
	switch {
	case over != nil:
		return over
	case ended != nil:
		return ended
	}
	deadline := c.now().Add(c.requestTimeout)
	var errs []error
	for i, h := range held {
		errs = append(errs, c.awaitFreed(h, freed[i], deadline))
	}
	return printable.Join(errs...)
}
