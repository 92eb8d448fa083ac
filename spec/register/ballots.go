package register

// How a table is proposed, accepted, pushed and learned: rules R2 and R4 in the model tokens.

func (m *tokens) committed(s *tokensState, version uint8) bool {
	b := &s.ballot[version]
	return b.decided && b.accepted.majorityOf(b.table.members()) && (m.Commit == 0 || b.accepted.majorityOf(b.prev))
}

// evidence reports whether there is evidence that a version is committed: both majorities accepted
// the version, or a member that accepted it carries the mark "learned".
func (m *tokens) evidence(s *tokensState, version uint8) bool {
	if m.committed(s, version) {
		return true
	}
	for i := range m.servers() {
		if v := &s.master[i]; v.learned && v.accepted == version {
			return true
		}
	}
	return false
}

// propose takes each next step of ballot b: the ballot gets a promise, or is decided.
func (m *tokens) propose(s *tokensState, b uint8, to func(*tokensState, move)) {
	switch {
	case s.ballot[b].decided:
	case m.Serial == 1:
		if m.committed(s, b-1) {
			m.change(s, b, b-1, to)
		}
	default:
		for i := range m.servers() {
			v := &s.master[i]
			if b <= v.promised || s.out.has(i) || m.Aside == 1 && m.weakened(&s.fleet, i, &s.ballot[v.accepted].table) {
				continue
			}
			next := *s
			next.master[i].promised = b
			next.ballot[b].promises |= one(s.id[i])
			next.ballot[b].found = max(s.ballot[b].found, v.accepted)
			to(&next, move{promise, b, i, v.accepted})
		}
		m.decide(s, b, to)
	}
}

// decide lets ballot b choose the table that it proposes. Enough members of the version that b found must have promised b.
func (m *tokens) decide(s *tokensState, b uint8, to func(*tokensState, move)) {
	base, promises := s.ballot[b].found, s.ballot[b].promises
	if base == 0 {
		return
	}
	found := &s.ballot[base]
	if !promises.majorityOf(found.table.members()) {
		return
	}
	known := m.evidence(s, base)
	before := m.Prev == 0 || promises.majorityOf(found.prev)
	// A proposer without evidence that this version is committed proposes the version's table again.
	if before && (base != 1 || m.Founded == 0) {
		m.put(s, b, base, unchanged, 0, found.table, found.prev, &s.fleet, to)
	}
	if known || m.Unchanged == 0 && before {
		m.change(s, b, base, to)
	}
}

// change lets ballot b propose each change of version base.
func (m *tokens) change(s *tokensState, b, base uint8, to func(*tokensState, move)) {
	t := s.ballot[base].table
	m.each(&s.fleet, t, s.ready, m.removable(s, base), func(changed table, f *fleet, change, id uint8) {
		m.put(s, b, base, change, id, changed, t.members(), f, to)
	})
}

func (m *tokens) put(s *tokensState, b, base, change, id uint8, t table, prev ids, f *fleet,
	to func(*tokensState, move)) {
	next := *s
	next.fleet = *f
	next.ballot[b] = ballot{decided: true, base: base, table: t, prev: prev}
	to(&next, move{decide, b, change, id})
}

// accept lets server i accept the table of ballot b, which is proposed or pushed to the server.
func (m *tokens) accept(s *tokensState, b, i uint8, to func(*tokensState, move)) {
	v, p := &s.master[i], &s.ballot[b]
	if !p.decided || v.accepted == b || s.out.has(i) || !(p.table.members() | p.prev).has(s.id[i]) {
		return
	}
	aside := m.Aside == 1 && m.weakened(&s.fleet, i, &s.ballot[v.accepted].table)
	next := *s
	next.ballot[b].accepted |= one(s.id[i])
	next.master[i].accepted = b
	if m.Reset == 1 {
		next.master[i].learned = false
	}
	switch {
	case (b >= v.promised || m.Promised == 0 && b > v.accepted) && !aside:
		next.master[i].promised = b
		to(&next, move{takeTable, b, i, 0})
	case b > v.accepted && m.mayPush(s, b):
		if m.Raise == 1 {
			next.master[i].promised = max(v.promised, b)
		}
		to(&next, move{push, b, i, 0})
	}
}

func (m *tokens) mayPush(s *tokensState, b uint8) bool {
	switch m.Push {
	case 0:
		return true
	case 1:
		return s.ballot[b].accepted.majorityOf(s.ballot[b].table.members())
	}
	return m.evidence(s, b)
}

func (m *tokens) learn(s *tokensState, i uint8, to func(*tokensState, move)) {
	if v := &s.master[i]; m.Marks == 1 && !s.out.has(i) && !v.learned && v.accepted != 0 && m.evidence(s, v.accepted) {
		next := *s
		next.master[i].learned = true
		to(&next, move{learn, i, v.accepted, 0})
	}
}

// write lets server i stop saving its data to disk, save all of it again, or restart with what it saved.
func (m *tokens) write(s *tokensState, i uint8, to func(*tokensState, move)) {
	if m.mayStop(&s.fleet, i) {
		next := *s
		next.disk[next.stop(i)] = disk{s.id[i], s.master[i]}
		to(&next, move{kind: stop, a: i})
	}
	if int(s.mends) < m.Mends && s.weak.has(i) {
		next := *s
		next.mends++
		next.weak &^= one(i)
		next.disk[s.fleet.disk(i)] = disk{}
		to(&next, move{kind: mend, a: i})
	}
	if m.mayRestart(&s.fleet, i) {
		next := *s
		if s.weak.has(i) {
			d := &next.disk[s.fleet.disk(i)]
			next.id[i], next.master[i] = d.id, d.data
			*d = disk{}
		}
		next.restart(i)
		to(&next, move{kind: restart, a: i})
	}
}

// lose lets server i come back without its data, or with old data.
func (m *tokens) lose(s *tokensState, i uint8, to func(*tokensState, move)) {
	v := &s.master[i]
	if int(s.losses) >= m.Losses || !m.first(&s.fleet, i) || v.promised == 0 {
		return
	}
	next := *s
	m.changing.lose(&next.fleet, i)
	for counter := uint8(0); counter == 0 || m.Old == 1 && counter <= v.counter; counter++ {
		next.master[i] = master{counter: counter}
		if counter > 0 && counter == v.counter {
			next.master[i].lock = v.lock
		}
		if m.Wipe == 0 {
			next.master[i].promised, next.master[i].accepted = v.promised, v.accepted
		}
		to(&next, move{kind: lose, a: i})
	}
}
