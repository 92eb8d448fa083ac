package register

// Rule R3 in the model tokens: how counters are read and raised before a member becomes voting, and
// before a member is removed.

// readFor takes each step in which a client reads one other member's counter for server i, which is a new member.
func (m *tokens) readFor(s *tokensState, i uint8, to func(*tokensState, move)) {
	id := s.id[i]
	if s.ready.has(id) || m.still(s, i) {
		return
	}
	for j := range m.servers() {
		from := &s.master[j]
		if j == i || s.out.has(j) || from.accepted == 0 || !s.ballot[from.accepted].table.intact().has(s.id[j]) {
			continue
		}
		at := from.accepted
		if m.ReadBarrier == 0 {
			at = m.newest(s, id)
		}
		if !s.ballot[at].table.new.has(id) || m.ReadBarrier == 2 && !m.evidence(s, at) {
			continue
		}
		next := *s
		v := &next.master[i]
		if v.readAt != at {
			if v.readAt > at {
				continue // counters are never read at an older version than before
			}
			v.readAt = at
			if m.ReadOne == 1 {
				v.read = 0
			}
		}
		if v.read.has(s.id[j]) {
			continue
		}
		v.read |= one(s.id[j])
		v.counter = max(v.counter, from.counter)
		if m.ReadQuorum == 0 || v.read.majorityOf(s.ballot[at].table.members()) {
			next.ready |= one(id)
			v.read, v.readAt = 0, 0
		}
		to(&next, move{read, i, j, at})
	}
}

// still reports whether the counter of server i can be neither read nor raised now.
func (m *tokens) still(s *tokensState, i uint8) bool {
	return s.out.has(i) || m.Aside == 1 && m.weakened(&s.fleet, i, &s.ballot[s.master[i].accepted].table)
}

// newest returns the newest version whose table lists the member as new. Without such a version it returns 0.
func (m *tokens) newest(s *tokensState, id uint8) uint8 {
	for b := uint8(m.Ballots); b > 0; b-- {
		if s.ballot[b].table.new.has(id) {
			return b
		}
	}
	return 0
}

// beforeRemoval reads the counter of server i, or raises it, before a removal.
func (m *tokens) beforeRemoval(s *tokensState, i uint8, to func(*tokensState, move)) {
	v, id := &s.master[i], s.id[i]
	at := v.accepted
	if m.Floor == 0 || int(s.removes) >= m.Removes || at == 0 || at < s.floor.base || m.still(s, i) || !m.evidence(s, at) {
		return
	}
	t := s.ballot[at].table
	if !t.intact().has(id) || m.Removable == 1 && t.voting == t.members() {
		return
	}
	next := *s
	f := &next.floor
	if f.base != at {
		*f = raising{base: at}
	}
	switch {
	case !f.read.majorityOf(t.members()):
		if f.read.has(id) {
			return
		}
		f.read |= one(id)
		f.highest = max(f.highest, v.counter)
		to(&next, move{readFloor, i, at, 0})
	case t.voting.has(id) && !f.raised.has(id):
		f.raised |= one(id)
		next.master[i].counter = max(v.counter, f.highest)
		to(&next, move{raiseFloor, i, at, 0})
	}
}

// removable returns the members that a change of version base may remove. Before the removal of a member, the
// counters of a quorum of the other members must have been raised.
func (m *tokens) removable(s *tokensState, base uint8) (some ids) {
	members := s.ballot[base].table.members()
	for id := range uint8(maxIDs) {
		rest := members &^ one(id)
		right := s.floor.base == base || m.Base == 0 && s.floor.base != 0
		if m.Floor == 0 || right && s.floor.raised.majorityOf(rest) {
			some |= one(id)
		}
	}
	return some
}
