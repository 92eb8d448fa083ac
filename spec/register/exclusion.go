package register

import "fmt"

// exclusion is the model of the holders of the lock while the members change. Time is discrete, and the same
// everywhere, except on a server whose clock is wrong. The tables form one chain, as the model tokens
// shows: each table is made from the previous committed table.
//
// Promise: no two attempts hold the lock at once.
type exclusion struct {
	changing

	// Acquire: a master executes only acquires that carry the version that it accepted. 1: also acquires with
	// earlier versions. 0: acquires with any version.
	Acquire int `full:"2"`
	// Extend: the levels of Acquire, for renewals.
	Extend int `full:"2"`
	// Apart: a hold is valid for as long as the votes of a single version prove it. 0: votes of all versions
	// count together, if they are a quorum of the newest of these versions.
	Apart int `full:"1"`
	// Quorum: a quorum is a majority of all members of the table. 0: a majority of the voting members is enough.
	Quorum int `full:"1"`
	// Use: a round uses a version only if there is evidence that the version is committed. 0: a proposed
	// version may be used, too.
	Use int `full:"1"`

	// Quarantine: a new member becomes voting when the longest ttl has passed since members learned that
	// the present version is committed. 1: since members accepted this version. 0: it becomes voting at once.
	Quarantine int `full:"2"`
	// RemoveQuarantine: a member is removed only after the same quarantine. 0: it is removed at once.
	RemoveQuarantine int `full:"1"`
	// Marks: the longest ttl must have passed since each member of a quorum learned of the commit. 0: since one
	// member learned of it.
	Marks int `full:"1"`
	// Reset: a member that accepts another version loses the mark "learned". 0: the mark stays.
	Reset int `full:"1"`

	Versions int `bound:"3"`
	TTL      int `bound:"2"` // in ticks, 3 at most; also the longest ttl of the deployment
	Jumps    int `bound:"0"` // 1: the clock of one server may jump
	Renews   int `bound:"1"` // 0: holders do not renew
	Repairs  int `bound:"0"` // 1: holders repair
}

const maxVersions = 5

type exclusionState struct {
	fleet
	server  [maxFleet]server
	version [maxVersions + 1]version // from 1 on
	hold    [2]hold
	disk    [maxWeakens]written
	wrong   uint8 // the server whose clock is wrong, counted from 1
}

type server struct {
	accepted uint8
	owner    uint8 // the attempt that has the lock, counted from 1; 0: the lock is free
	left     uint8 // ticks until the lock expires
	learned  bool  // the mark
	since    uint8 // ticks since it got the mark, up to the ttl
}

// written is the data on the disk of a server that no longer saves its data.
type written struct {
	id   uint8
	data server
}

type version struct {
	decided  bool
	table    table
	prev     ids
	accepted ids
}

// hold is an attempt, and the hold that the attempt becomes.
type hold struct {
	phase uint8
	round uint8 // the version of the round; 0: no round is under way
	first bool  // the round is one of acquires, not of extends
	left  uint8 // for how many ticks the votes of the round count
	asked ids   // the servers that executed the request of the round
	votes [maxVersions + 1]ticks
}

// renew begins a round of extends at a version. With version 0, renew ends the round that is under way instead.
func (h *hold) renew(version, left uint8) {
	h.round, h.first, h.left, h.asked = version, false, left, 0
}

const (
	idle = iota
	asking
	held
	over
)

// ticks has for each member, in two bits, the number of ticks for which its vote still counts.
type ticks uint16

func (t ticks) of(id uint8) uint8 { return uint8(t>>(2*id)) & 3 }

func (t ticks) raise(id, n uint8) ticks {
	return t&^(3<<(2*id)) | ticks(max(n, t.of(id)))<<(2*id)
}

// less returns the numbers of ticks that are left one tick later.
func (t ticks) less() (l ticks) {
	for id := range uint8(maxIDs) {
		if n := t.of(id); n > 0 {
			l |= ticks(n-1) << (2 * id)
		}
	}
	return l
}

// valid returns the members whose votes still count.
func (t ticks) valid() (some ids) {
	for id := range uint8(maxIDs) {
		if t.of(id) > 0 {
			some |= one(id)
		}
	}
	return some
}

func (m *exclusion) start() (s exclusionState) {
	s.fleet = m.firstFleet()
	first := m.firstTable()
	s.version[1] = version{decided: true, table: first, prev: first.members(), accepted: first.members()}
	for i := range m.Members {
		s.server[i] = server{accepted: 1, learned: true, since: uint8(m.TTL)} // it learned long ago
	}
	return s
}

const (
	tick = iota
	jump
	decideVersion
	takeVersion
	learnVersion
	loseLocks
	acquire
	extend
	repair
)

func (m *exclusion) steps(s *exclusionState, to func(*exclusionState, move)) {
	m.tick(s, to)
	m.propose(s, to)
	for i := range m.servers() {
		m.accept(s, i, to)
		m.learn(s, i, to)
		m.jump(s, i, to)
		m.lose(s, i, to)
		m.write(s, i, to)
		for k := range uint8(len(s.hold)) {
			m.acquire(s, k, i, to)
			m.extend(s, k, i, to)
			m.repair(s, k, i, to)
		}
	}
	m.looks(&s.fleet, func(i uint8) uint8 { return s.server[i].accepted }, func(version uint8) known {
		v := &s.version[version]
		return known{v.table, v.prev, m.committed(s, version)}
	}, func(f *fleet, kind, a, b uint8) {
		next := *s
		next.fleet = *f
		to(&next, move{kind, a, b, 0})
	})
}

func (m *exclusion) tick(s *exclusionState, to func(*exclusionState, move)) {
	next := *s
	for i := range m.servers() {
		next.server[i].tick(uint8(m.TTL))
	}
	for i := range next.disk {
		next.disk[i].data.tick(uint8(m.TTL))
	}
	for k := range next.hold {
		h := &next.hold[k]
		for v := range h.votes {
			h.votes[v] = h.votes[v].less()
		}
		if h.left > 0 {
			h.left--
		}
		if h.left == 0 && h.phase == held {
			h.renew(0, 0)
		}
		if h.phase == asking && h.left == 0 || h.phase == held && !m.valid(&next, h) {
			m.end(&next, uint8(k))
		}
	}
	to(&next, move{kind: tick})
}

func (v *server) tick(ttl uint8) {
	if v.left > 0 {
		v.left--
	}
	if v.left == 0 {
		v.owner = 0
	}
	if v.learned {
		v.since = min(v.since+1, ttl)
	}
}

// end ends attempt k, and frees its locks.
func (m *exclusion) end(s *exclusionState, k uint8) {
	s.hold[k] = hold{phase: over}
	for i := range s.server {
		if s.server[i].owner == k+1 {
			s.server[i].owner, s.server[i].left = 0, 0
		}
	}
}

// The register.

func (m *exclusion) committed(s *exclusionState, version uint8) bool {
	v := &s.version[version]
	return v.decided && v.accepted.majorityOf(v.table.members()) && v.accepted.majorityOf(v.prev)
}

// propose decides the next version, if the previous one is committed.
func (m *exclusion) propose(s *exclusionState, to func(*exclusionState, move)) {
	base := uint8(1)
	for base < uint8(m.Versions) && s.version[base+1].decided {
		base++
	}
	if base == uint8(m.Versions) || !m.committed(s, base) {
		return
	}
	t := s.version[base].table
	var ready, removable ids
	past := m.past(s, base)
	if past || m.Quarantine == 0 {
		ready = t.new
	}
	if past || m.Quarantine == 0 || m.RemoveQuarantine == 0 {
		removable = t.members()
	}
	m.each(&s.fleet, t, ready, removable, func(changed table, f *fleet, change, id uint8) {
		next := *s
		next.fleet = *f
		next.version[base+1] = version{decided: true, table: changed, prev: t.members()}
		to(&next, move{decideVersion, base + 1, change, id})
	})
}

// past reports whether the quarantine on version base is over.
func (m *exclusion) past(s *exclusionState, base uint8) bool {
	var some ids
	for i := range m.servers() {
		if v := &s.server[i]; v.accepted == base && v.learned && int(v.since) >= m.TTL {
			some |= one(s.id[i])
		}
	}
	members := s.version[base].table.members()
	if m.Marks == 0 {
		return some&members != 0
	}
	return some.majorityOf(members)
}

func (m *exclusion) accept(s *exclusionState, i uint8, to func(*exclusionState, move)) {
	if s.out.has(i) {
		return
	}
	aside := m.Aside == 1 && m.weakened(&s.fleet, i, &s.version[s.server[i].accepted].table)
	for b := s.server[i].accepted + 1; b <= uint8(m.Versions); b++ {
		if p := &s.version[b]; !p.decided || aside && !m.committed(s, b) || !(p.table.members() | p.prev).has(s.id[i]) {
			continue
		}
		next := *s
		next.version[b].accepted |= one(s.id[i])
		v := &next.server[i]
		v.accepted = b
		if m.Reset == 1 {
			v.learned, v.since = m.Quarantine == 1, 0
		}
		to(&next, move{takeVersion, i, b, 0})
	}
}

func (m *exclusion) learn(s *exclusionState, i uint8, to func(*exclusionState, move)) {
	v := &s.server[i]
	if v.learned || v.accepted == 0 || s.out.has(i) || !m.committed(s, v.accepted) {
		return
	}
	next := *s
	next.server[i].learned, next.server[i].since = true, 0
	to(&next, move{learnVersion, i, v.accepted, 0})
}

// jump lets the clock of server i jump, so that the quarantine is over by this clock.
func (m *exclusion) jump(s *exclusionState, i uint8, to func(*exclusionState, move)) {
	v := &s.server[i]
	if m.Jumps == 0 || s.wrong != 0 && s.wrong != i+1 || !v.learned || int(v.since) == m.TTL {
		return
	}
	next := *s
	next.wrong = i + 1
	next.server[i].since = uint8(m.TTL)
	to(&next, move{kind: jump, a: i})
}

// write lets server i stop saving its data to disk, save all of it again, or restart with what it saved.
func (m *exclusion) write(s *exclusionState, i uint8, to func(*exclusionState, move)) {
	if m.mayStop(&s.fleet, i) {
		next := *s
		next.disk[next.stop(i)] = written{s.id[i], s.server[i]}
		to(&next, move{kind: stop, a: i})
	}
	if int(s.mends) < m.Mends && s.weak.has(i) {
		next := *s
		next.mends++
		next.weak &^= one(i)
		next.disk[s.fleet.disk(i)] = written{}
		to(&next, move{kind: mend, a: i})
	}
	if m.mayRestart(&s.fleet, i) {
		next := *s
		if s.weak.has(i) {
			d := &next.disk[s.fleet.disk(i)]
			next.id[i], next.server[i] = d.id, d.data
			*d = written{}
		}
		next.restart(i)
		to(&next, move{kind: restart, a: i})
	}
}

func (m *exclusion) lose(s *exclusionState, i uint8, to func(*exclusionState, move)) {
	if int(s.losses) >= m.Losses || !m.first(&s.fleet, i) || s.server[i].accepted == 0 {
		return
	}
	next := *s
	m.changing.lose(&next.fleet, i)
	next.server[i] = server{}
	to(&next, move{kind: loseLocks, a: i})
}

// Rounds.

func (m *exclusion) quorum(s *exclusionState, version uint8, some ids) bool {
	t := s.version[version].table
	if m.Quorum == 0 {
		return some.majorityOf(t.voting)
	}
	return some.len() >= t.members().majority()
}

// valid reports whether the votes of a single version prove that the hold still has the lock.
func (m *exclusion) valid(s *exclusionState, h *hold) bool {
	var all ids
	var newest uint8
	for v := uint8(1); v <= uint8(m.Versions); v++ {
		some := h.votes[v].valid()
		if some != 0 && m.quorum(s, v, some) {
			return true
		}
		if all |= some; some != 0 {
			newest = v
		}
	}
	return m.Apart == 0 && all != 0 && m.quorum(s, newest, all)
}

// executes reports whether server i executes a request that carries a version, under the rule Acquire or Extend.
func (m *exclusion) executes(s *exclusionState, i, version uint8, rule int) bool {
	at := s.server[i].accepted
	t := &s.version[at].table
	if at == 0 || !t.voting.has(s.id[i]) || s.out.has(i) || m.Silent == 1 && m.weakened(&s.fleet, i, t) {
		return false
	}
	return at == version || rule == 0 || rule == 1 && version < at
}

// usable reports whether a round may begin with a version.
func (m *exclusion) usable(s *exclusionState, version uint8) bool {
	return s.version[version].decided && (m.Use == 0 || m.committed(s, version))
}

// acquire lets server i grant the lock to attempt k. In the model, an attempt begins with its first grant. If an
// attempt began earlier, its votes would only count for fewer ticks.
func (m *exclusion) acquire(s *exclusionState, k, i uint8, to func(*exclusionState, move)) {
	h := &s.hold[k]
	if s.server[i].owner != 0 {
		return
	}
	switch {
	case h.first && !h.asked.has(i) && m.executes(s, i, h.round, m.Acquire):
		m.vote(s, k, i, acquire, to)
	case h.phase == idle && (k == 0 || s.hold[k-1].phase != idle): // attempts are alike
		for v := uint8(1); v <= uint8(m.Versions); v++ {
			if m.usable(s, v) && m.executes(s, i, v, m.Acquire) {
				next := *s
				next.hold[k] = hold{phase: asking, round: v, first: true, left: uint8(m.TTL)}
				m.vote(&next, k, i, acquire, to)
			}
		}
	}
}

// extend lets server i renew the lock of hold k. A round of extends begins with its first vote.
func (m *exclusion) extend(s *exclusionState, k, i uint8, to func(*exclusionState, move)) {
	h := &s.hold[k]
	if m.Renews == 0 || h.phase != held || s.server[i].owner != k+1 {
		return
	}
	if h.round != 0 && !h.first && !h.asked.has(i) && m.executes(s, i, h.round, m.Extend) {
		m.vote(s, k, i, extend, to)
	}
	for v := uint8(1); v <= uint8(m.Versions); v++ {
		if m.usable(s, v) && m.executes(s, i, v, m.Extend) {
			next := *s
			next.hold[k].renew(v, uint8(m.TTL))
			m.vote(&next, k, i, extend, to)
		}
	}
}

func (m *exclusion) vote(s *exclusionState, k, i, kind uint8, to func(*exclusionState, move)) {
	next := *s
	next.server[i].owner, next.server[i].left = k+1, uint8(m.TTL)
	h := &next.hold[k]
	h.asked |= one(i)
	h.votes[h.round] = h.votes[h.round].raise(s.id[i], h.left)
	by := move{kind, k, i, h.round}
	if h.phase == asking && m.valid(&next, h) {
		h.phase = held
	}
	if h.phase == held && h.asked == m.everybody() {
		h.renew(0, 0)
	}
	to(&next, by)
}

func (m *exclusion) everybody() ids { return one(m.servers()) - 1 }

// repair writes the lock of hold k back to server i, which lost it. A repair is not a vote.
func (m *exclusion) repair(s *exclusionState, k, i uint8, to func(*exclusionState, move)) {
	h := &s.hold[k]
	if m.Repairs == 0 || h.phase != held || h.round == 0 || s.server[i].owner != 0 || !m.executes(s, i, h.round, m.Extend) {
		return
	}
	next := *s
	next.server[i].owner, next.server[i].left = k+1, uint8(m.TTL)
	to(&next, move{repair, k, i, h.round})
}

func (m *exclusion) broken(s *exclusionState) string {
	if s.hold[0].phase == held && s.hold[1].phase == held {
		return "two attempts hold the lock"
	}
	return ""
}

func (m *exclusion) event(s *exclusionState, by move) string {
	at := func(i uint8) string { return fmt.Sprintf("%s, at version %d,", name(i), s.server[i].accepted) }
	switch by.kind {
	case tick:
		return "a tick"
	case jump:
		return fmt.Sprintf("the clock of %s jumps ahead", name(by.a))
	case decideVersion:
		return fmt.Sprintf("version %d is decided: %s", by.a, m.describe(&s.fleet, by.b, by.c, s.version[by.a].table))
	case takeVersion:
		return fmt.Sprintf("%s accepts version %d%s", name(by.a), by.b, when(m.committed(s, by.b), ": it is committed"))
	case learnVersion:
		return fmt.Sprintf("%s learns that version %d is committed", name(by.a), by.b)
	case loseLocks:
		return fmt.Sprintf("%s loses its data, and comes back as %s", name(by.a), m.nameOf(&s.fleet, s.id[by.a]))
	case acquire:
		return fmt.Sprintf("attempt %d, of version %d: %s grants%s", by.a, by.c, at(by.b), when(s.hold[by.a].phase == held, ": it holds"))
	case extend:
		return fmt.Sprintf("attempt %d, at version %d: %s extends", by.a, by.c, at(by.b))
	case stop, mend, restart, report, adopt:
		return describeDurability(by.kind, by.a, by.b)
	default:
		return fmt.Sprintf("attempt %d, of version %d: %s is repaired", by.a, by.c, name(by.b))
	}
}
