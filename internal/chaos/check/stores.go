package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// stores judges the accesses to each register.
func stores(r *record, b Bounds, v *Verdict) {
	for _, at := range r.registers {
		s := sweep{register: at, record: r, bounds: b, verdict: v, writes: map[int64]*access{}}
		s.over(r.accesses[at])
	}
}

// sweep is the state of a register, as far as the accesses up to some time show it.
type sweep struct {
	register
	record  *record
	bounds  Bounds
	verdict *Verdict

	writes   map[int64]*access // the writes that began, by value
	accepted *access           // the successful access with the highest token
	highest  uint64            // the highest token that was sent
	newest   *access           // the successful write that began last
	written  uint64            // the highest token of a successful write
}

// edge is the beginning or the end of an access.
type edge struct {
	at   time.Duration
	ends bool
	*access
}

func (s *sweep) over(accesses []*access) {
	var edges []edge
	for _, a := range accesses {
		edges = append(edges, edge{a.from, false, a})
		if a.to != never {
			edges = append(edges, edge{a.to, true, a})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int {
		return cmp.Or(cmp.Compare(a.at, b.at), compareBool(a.ends, b.ends))
	})
	known := map[*access]sweep{} // the state when each access under way began
	for _, e := range edges {
		if !e.ends {
			known[e.access] = *s
			s.begins(e.access)
			continue
		}
		s.ends(e.access, known[e.access])
		delete(known, e.access)
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func (s *sweep) begins(a *access) {
	s.highest = max(s.highest, a.token)
	if a.write {
		s.writes[a.value] = a
		s.mayWrite(a)
	}
}

// mayWrite judges a write by its hold: a reader must not write.
func (s *sweep) mayWrite(a *access) {
	if a.token == 0 {
		s.verdict.violate(Wrote, a.from, "%s, %s: %s wrote %d without a token", s.store, s.name, a.client, a.value)
		return
	}
	if h := s.record.holdOf(a.client, s.name, a.token); h != nil && h.down <= a.from {
		s.verdict.violate(Wrote, a.from, "%s, %s: %s wrote %d with token %d, and has been a reader since %s",
			s.store, s.name, a.client, a.value, a.token, seconds(h.down))
	}
}

// ends judges an access that ended. "then" is the state when the access began.
func (s *sweep) ends(a *access, then sweep) {
	if a.err == history.ErrRefused && a.token >= s.highest {
		s.verdict.violate(Fence, a.to, "%s, %s: %s was refused with token %d, and nobody had come with a higher one",
			s.store, s.name, a.client, a.token)
	}
	if a.token != 0 && then.accepted != nil && a.token < then.accepted.token {
		s.stale(a, then.accepted)
	}
	if a.err != "" {
		return
	}
	if !a.write {
		s.read(a, then)
	}
	if a.token != 0 && (s.accepted == nil || a.token > s.accepted.token) {
		s.accepted = a
	}
	if a.write {
		s.written = max(s.written, a.token)
	}
	if a.write && (s.newest == nil || a.from > s.newest.from) {
		s.newest = a
	}
}

// stale judges a stale access: its token is lower than the token of an access that was accepted before. A guard must
// refuse it. A stale access shows that another client held the lock meanwhile. In the fault model, this is a violation
// unless the context of the stale holder had ended, or an operator had taken the lock. Outside of the fault model, a
// stale write that an unguarded store accepts shows why a guard is needed.
func (s *sweep) stale(a, newer *access) {
	inModel := s.record.inModel(a.from, s.bounds.Recovery)
	if a.err == "" && s.store != history.Unguarded {
		s.verdict.violate(Fence, a.to, "%s, %s: %s came at %s with token %d and was let in, although %s had been with %d at %s",
			s.store, s.name, a.client, seconds(a.from), a.token, newer.client, newer.token, seconds(newer.to))
	}
	if h := s.record.holdOf(a.client, s.name, a.token); inModel && h != nil && h.held <= a.from && a.from < min(s.record.claim(h, s.bounds), h.forcedFrom(s.bounds)) {
		s.verdict.violate(Stale, a.to, "%s, %s: %s came at %s with token %d and had not noticed yet that its hold was over, although %s had been with %d at %s",
			s.store, s.name, a.client, seconds(a.from), a.token, newer.client, newer.token, seconds(newer.to))
	}
	if a.err == "" && s.store == history.Unguarded && a.write && !inModel {
		s.verdict.Stale++
	}
}

// read judges the value that a read returned: 0, or the value of a write. It is a violation if another write, which
// was acknowledged before the read, has certainly overwritten the value.
func (s *sweep) read(a *access, then sweep) {
	w := s.writes[a.value]
	switch {
	case a.value == 0 && then.newest == nil:
	case a.value == 0:
		s.lost(a, then.newest, "nothing")
	case w == nil:
		s.verdict.violate(Durable, a.to, "%s, %s: %s read %d, which nobody wrote", s.store, s.name, a.client, a.value)
	case w.err == history.ErrRefused:
		s.verdict.violate(Durable, a.to, "%s, %s: %s read %d, the write of which was refused", s.store, s.name, a.client, a.value)
	case w.err == "" && then.newest != nil && w.to < then.newest.from:
		s.lost(a, then.newest, "an older value")
	case s.store == history.Unguarded && w.token < then.written:
		s.verdict.LostUpdates++
	}
}

func (s *sweep) lost(a, w *access, instead string) {
	s.verdict.violate(Durable, a.to, "%s, %s: the write of %d by %s was acknowledged at %s, and %s read %s from %s on",
		s.store, s.name, w.value, w.client, seconds(w.to), a.client, instead, seconds(a.from))
}
