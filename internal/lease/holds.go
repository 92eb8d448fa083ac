package lease

import (
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/unwind"
)

// Holds are the holds of a client.
type Holds struct {
	Client
	suspend suspendCheck

	mu     sync.Mutex // not held over calls
	byName map[string]*Hold
}

// NewHolds returns an empty Holds.
func NewHolds(c Client) *Holds { return &Holds{Client: c, suspend: suspendCheck{born: time.Now()}} }

// add adds h as the latest hold of its name. (Other holds of the name remain if they read, or if
// their lease has expired but their timer has not fired yet.)
func (s *Holds) add(h *Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = make(map[string]*Hold)
	}
	if h.older = s.byName[h.Name]; h.older != nil {
		h.older.newer = h
	}
	s.byName[h.Name] = h
}

// remove removes h, and reports whether it was there.
func (s *Holds) remove(h *Hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.byName[h.Name] != h && h.newer == nil:
		return false
	case h.newer != nil:
		h.newer.older = h.older
	case h.older != nil:
		s.byName[h.Name] = h.older
	default:
		delete(s.byName, h.Name)
	}
	if h.older != nil {
		h.older.newer = h.newer
	}
	h.newer, h.older = nil, nil
	return true
}

// Latest returns the latest hold of a name, or nil.
func (s *Holds) Latest(name string) *Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

// Of returns the hold of name by this owner, or nil.
func (s *Holds) Of(name, owner string) *Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := s.byName[name]; h != nil; h = h.older {
		if h.ID == owner {
			return h
		}
	}
	return nil
}

// RenewNow makes a renewal due for each hold of a name.
func (s *Holds) RenewNow(name string) {
	s.mu.Lock()
	var all []*Hold
	for h := s.byName[name]; h != nil; h = h.older {
		all = append(all, h)
	}
	s.mu.Unlock()
	for _, h := range all {
		h.renewNow()
	}
}

// MembersChanged is called when the members have changed. It renews at once each hold whose last
// renewal has no quorum.
func (s *Holds) MembersChanged() {
	for _, h := range s.All() {
		h.membersChanged()
	}
}

// Close ends and releases all holds.
func (s *Holds) Close(cause error) { EndEach(s.All(), cause) }

// Stop stops the suspend check.
func (s *Holds) Stop() { s.suspend.stop() }

// none reports whether there is no hold.
func (s *Holds) none() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byName) == 0
}

// All returns all holds.
func (s *Holds) All() []*Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Hold
	for _, h := range s.byName {
		for ; h != nil; h = h.older {
			all = append(all, h)
		}
	}
	return all
}

// EndEach ends and releases each of the holds, even if the observer of one hold does not return. Holds with a lock
// delay whose set is lost are not released, because their work may not have stopped yet.
func EndEach(holds []*Hold, cause error) {
	for i, h := range holds {
		release := func() {
			if h.Config.Delay == 0 || cause != ErrLost && cause != ErrExpired {
				h.release(Next{})
			}
		}
		unwind.OrElse(func() { h.End(cause) }, func() {
			release()
			EndEach(holds[i+1:], cause)
		})
		release()
	}
}
