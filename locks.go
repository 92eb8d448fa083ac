package redlock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
)

// Locks is a handle on several names that are held together: see LockAll. Its methods may be called
// from several goroutines. As with Lock, do not assume that the names are held until Unlock.
//
// A failed acquisition returns a nil *Locks. The methods of a nil *Locks do nothing: they return an
// error that is ErrNotAcquired, or the zero value.
type Locks struct {
	_      noCopy
	client *Client
	names  []string // sorted by their bytes
	set    *lease.Set
}

// errNoLocks is returned by the methods of a nil *Locks.
var errNoLocks = fmt.Errorf("%w: the *Locks is nil", ErrNotAcquired)

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

// Names returns the names that were locked, sorted by their bytes.
func (s *Locks) Names() []string {
	if s.none() {
		return nil
	}
	return slices.Clone(s.names)
}

// Token returns the fencing token of the hold of name, or 0 if name is not one of the set's names.
// Tokens of different names cannot be compared.
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
	tokens := make(map[string]fence.Token, len(s.names))
	for _, h := range s.set.Holds() {
		tokens[h.Name] = h.Token
	}
	return tokens
}

// Context returns a context, derived from the context given to LockAll, that ends as soon as the
// hold of one of the names can no longer be proved; see Lock.Context. Then the other names are
// released. The context carries no token, because a guard could take one name's token for
// another's: use fence.WithToken with the result of Token.
//
// A Lock or TryLock of one of the names, with a context derived from this context, re-enters the name's hold.
func (s *Locks) Context() context.Context {
	if s.none() {
		return nil
	}
	return s.set.Context()
}

// Until returns the earliest of the times that Lock.Until would return for the names. Until is
// meant for logs: to decide, use Valid.
func (s *Locks) Until() time.Time {
	var first time.Time
	for _, h := range s.holds() {
		if until := s.client.timeOf(h.Until()); first.IsZero() || until.Before(first) {
			first = until
		}
	}
	return first
}

// Valid reads the clock and reports whether the holds of all names can be proved at this moment.
func (s *Locks) Valid() bool {
	if s.none() || s.set.Unlocked() || s.set.Over() != nil {
		return false
	}
	return !slices.ContainsFunc(s.holds(), func(h *lease.Hold) bool { return !h.Valid() })
}

func (s *Locks) holds() []*lease.Hold {
	if s.none() {
		return nil
	}
	return s.set.Holds()
}

// Extend makes the lease of each name last at least ttl from now, like Lock.Extend. When it fails
// for some names, the leases of the others may be longer than before.
func (s *Locks) Extend(ctx context.Context, ttl time.Duration) error {
	if s.none() {
		return errNoLocks
	}
	c, holds := s.client, s.holds()
	c.check(ctx)
	ttl, err := c.mayExtend(holds[0], ttl)
	if err != nil {
		return err
	}
	switch over := s.set.Over(); {
	case s.set.Unlocked():
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
	deadline := c.asker.Deadline()
	return c.public(c.asker.WhileMembersChange(ctx, deadline, func(v *membership.View) error {
		asked := make([]*quorum.Round, len(holds))
		c.asker.Gather(func() {
			for i, h := range holds {
				asked[i] = h.Extend(v, ttl)
			}
		})
		var errs []error
		for i, h := range holds {
			errs = append(errs, c.awaitExtended(ctx, h, ask.OpExtend, asked[i], ttl, deadline))
		}
		return printable.Join(errs...)
	}))
}

// Unlock unlocks all names. It returns once a quorum of masters has freed each of them, or after
// the request timeout, like Lock.Unlock. A name that was re-entered stays held until the handles of
// its re-entries are unlocked too.
//
// Errors: ErrReleased on a second call; ErrExpired or ErrLost if the hold of one name was over
// before, because then the other holds end too; a *QuorumError with ErrNoQuorum for each name about
// which too few masters answered (for this client the name's hold is over all the same).
func (s *Locks) Unlock(ctx context.Context) error {
	if s.none() {
		return errNoLocks
	}
	if c := s.client; c.observer.unlocks {
		return c.notifyUnlock(ctx, s.unlock, UnlockResult{Names: s.Names(), Set: true})
	}
	return s.unlock()
}

func (s *Locks) unlock() error {
	c := s.client
	if !s.set.Unlock() {
		return ErrReleased
	}
	var held []*lease.Hold
	var freed []*quorum.Round
	_, ended := c.unlocking(func() (r *quorum.Round, err error) {
		held, freed, err = s.set.Exit()
		return nil, err
	})
	switch over := s.set.Over(); {
	case over != nil:
		return over
	case ended != nil:
		return ended
	}
	deadline := c.asker.Deadline()
	var errs []error
	for i, h := range held {
		errs = append(errs, c.asker.AwaitFreed(freed[i], h.Name, deadline))
	}
	return c.public(printable.Join(errs...))
}

// discard unlocks a handle that was not returned to the caller, and does not wait for the masters.
func (s *Locks) discard() {
	if !s.none() {
		s.set.Discard(ErrNotAcquired)
	}
}
