package redlock

import "sync"

// holds are those of a client.
type holds struct {
	mu     sync.Mutex // held over no call
	byName map[string]*hold
}

// add adds h, the latest of its name. (There are others when they read, or one has expired
// without being told yet.)
func (s *holds) add(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName == nil {
		s.byName = make(map[string]*hold)
	}
	h.older = s.byName[h.name]
	s.byName[h.name] = h
}

// remove takes h away, and reports whether it was there.
func (s *holds) remove(h *hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	latest := s.byName[h.name]
	if latest == h {
		if h.older == nil {
			delete(s.byName, h.name)
		} else {
			s.byName[h.name] = h.older
		}
		return true
	}
	for newer := latest; newer != nil; newer = newer.older {
		if newer.older == h {
			newer.older = h.older
			return true
		}
	}
	return false
}

// latest returns the latest of a name, or nil.
func (s *holds) latest(name string) *hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byName[name]
}

// renewNow makes the renewals of all holds of a name due.
func (s *holds) renewNow(name string) {
	for _, h := range s.all() {
		if h.name == name {
			h.renewNow()
		}
	}
}

// all returns all.
func (s *holds) all() []*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*hold
	for _, h := range s.byName {
		for ; h != nil; h = h.older {
			all = append(all, h)
		}
	}
	return all
}
