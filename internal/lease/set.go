package lease

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/unwind"
)

// Set holds several names together: if one is lost, all are lost.
type Set struct {
	holds  *Holds
	base   context.Context // of the holds; ends with the first lost hold
	cancel context.CancelCauseFunc
	ctx    context.Context // set by Complete, then constant

	mu       sync.Mutex // not held over calls
	all      []*Hold    // so far, including those that are over
	live     int        // number of the holds that are not over
	complete bool
	over     error // why the set is lost
	unlocked bool
	renewAt  clock.Instant // no renewal before this time
}

// NewSet returns an empty set. The contexts of its holds derive from ctx.
func (s *Holds) NewSet(ctx context.Context) *Set {
	set := &Set{holds: s}
	set.base, set.cancel = context.WithCancelCause(ctx)
	return set
}

// Base returns the context in which the names are acquired. It ends when a hold is lost.
func (s *Set) Base() context.Context { return s.base }

// Context returns a context that ends when a hold is lost, or the last hold is released. It carries all holds, and
// no token.
func (s *Set) Context() context.Context { return s.ctx }

// Holds returns the holds so far, including those that are over.
func (s *Set) Holds() []*Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// WatchHandle calls Entry.WatchHandle for each hold.
func (s *Set) WatchHandle(handle Handle) {
	for _, h := range s.Holds() {
		h.entries.first.WatchHandle(handle)
	}
}

// Over returns why the set is lost, or nil.
func (s *Set) Over() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

// Unlocked reports whether Unlock was called.
func (s *Set) Unlocked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unlocked
}

// Unlock records that the handle is unlocked. Call it before Exit. Unlock reports whether this is the first call.
func (s *Set) Unlock() (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = !s.unlocked
	s.unlocked = true
	return first
}

// joined is called for each hold that begins.
func (s *Set) joined(h *Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, h)
	s.live++
}

// ended is called for each hold that is over. Unless the hold was released, the whole set is lost, and ended releases
// the other holds.
func (s *Set) ended(cause error) {
	s.mu.Lock()
	s.live--
	last := s.complete && s.live == 0
	lost := cause != ErrReleased && s.over == nil
	if lost {
		s.over = cause
	}
	over := s.over
	all := slices.Clone(s.all)
	s.mu.Unlock()
	switch {
	case over != nil: // also if this is the last hold: the goroutine that ends the lost hold may not have come this far
		s.cancel(over)
		for _, h := range all {
			h.EndReEntries(over)
		}
	case last:
		s.cancel(ErrReleased)
	}
	if !lost {
		return
	}
	done, open := s.holds.Begin()
	if !open {
		return // Close ends and releases all holds by itself
	}
	defer done()
	all = slices.DeleteFunc(all, func(h *Hold) bool { return h.Over() != nil })
	s.gather(func() { EndEach(all, cause) })
}

// Complete is called when the set has all its names. maxHold and atLeast count from this call, not from the first
// acquisition. Complete returns why the set is lost, or nil.
func (s *Set) Complete(maxHold, atLeast time.Duration) (lost error) {
	now := s.holds.Now()
	s.mu.Lock()
	s.complete = true
	lost = s.over
	all := slices.Clone(s.all)
	s.mu.Unlock()
	if lost != nil {
		return lost
	}
	// A context with several holds carries no token, because only the caller can choose among their tokens.
	s.ctx = fence.WithToken(s.base, 0)
	for _, h := range all {
		if h.Over() == nil {
			h.bound(now, maxHold, atLeast)
			s.ctx = h.NewContext(s.ctx)
		}
	}
	return nil
}

// Discard gives back the names of a set that is incomplete, or that the caller did not get.
func (s *Set) Discard(cause error) {
	s.Exit()
	s.cancel(cause)
}

// Exit exits all holds. held are the holds that this call ends, and freed are the rounds of the masters' answers. ended
// is why a hold was over before the call, or nil.
func (s *Set) Exit() (held []*Hold, freed []*quorum.Round, ended error) {
	all := s.Holds()
	s.gather(func() {
		exitEach(all, func(h *Hold, r *quorum.Round, err error) {
			if err != nil {
				ended = err
			}
			if r != nil {
				held, freed = append(held, h), append(freed, r)
			}
		})
	})
	return held, freed, ended
}

// exitEach exits all holds, even if the observer of one hold does not return.
func exitEach(holds []*Hold, left func(*Hold, *quorum.Round, error)) {
	for i, h := range holds {
		unwind.OrElse(func() {
			r, err := h.entries.first.exitAnyway()
			left(h, r, err)
		}, func() { exitEach(holds[i+1:], left) })
	}
}

// renew renews all holds, in one batch for each master. It is called when the renewal of one hold is due. The timers of
// the other holds fire at about the same time. So renew does nothing within a duration (pause) after the last renewal.
func (s *Set) renew(now clock.Instant, pause time.Duration) {
	s.mu.Lock()
	if now.Before(s.renewAt) {
		s.mu.Unlock()
		return
	}
	s.renewAt = now.Add(pause)
	all := slices.Clone(s.all)
	s.mu.Unlock()
	s.gather(func() {
		for _, h := range all {
			h.Renew(now)
		}
	})
}

// gather calls submit. Each master gets all requests that submit makes in one batch.
func (s *Set) gather(submit func()) { master.Gather(s.holds.Masters, submit) }
