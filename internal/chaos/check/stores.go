package check

import (
	"cmp"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// stores goes over what was done to each register, and judges the guarded ones.
func stores(r *record, _ Bounds, v *Verdict) {
	for _, at := range r.registers {
		s := sweep{register: at, verdict: v, writes: map[int64]*access{}}
		s.over(r.accesses[at])
	}
}

// sweep is what is known of a register at some moment, from what began and ended
// before.
type sweep struct {
	register
	verdict *Verdict

	writes   map[int64]*access // that began, by value
	accepted *access           // that ended well with the highest token
	highest  uint64            // token that was ever sent
	newest   *access           // write that ended well and began last
	written  uint64            // highest token of a write that ended well
}

// edge is the begin or the end of an access.
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
	known := map[*access]sweep{} // when each of those under way began
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
	}
}

// ends judges an access by what was known when it began.
func (s *sweep) ends(a *access, then sweep) {
	if a.err == history.ErrRefused && a.token >= s.highest {
		s.verdict.violate(Fence, a.to, "%s, %s: %s was refused with token %d, and nobody had come with a higher one",
			s.store, s.name, a.client, a.token)
	}
	if a.err != "" {
		return
	}
	if a.token != 0 && then.accepted != nil && a.token < then.accepted.token {
		s.stale(a, then.accepted)
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

// stale takes note of an access with a lower token than one that was accepted
// before it began.
func (s *sweep) stale(a, newer *access) {
	switch {
	case s.store != history.Unguarded:
		s.verdict.violate(Fence, a.to, "%s, %s: %s came at %s with token %d and was let in, although %s had been with %d at %s",
			s.store, s.name, a.client, seconds(a.from), a.token, newer.client, newer.token, seconds(newer.to))
	case a.write:
		s.verdict.Stale++
	}
}

// read judges what a read returned: the value of a write that none which was
// acknowledged before the read has certainly overwritten.
func (s *sweep) read(a *access, then sweep) {
	w := s.writes[a.value]
	switch {
	case a.value == 0 && then.newest == nil:
	case a.value == 0:
		s.lost(a, then.newest, "nothing")
	case w == nil:
		s.verdict.violate(Kept, a.to, "%s, %s: %s read %d, which nobody wrote", s.store, s.name, a.client, a.value)
	case w.err == history.ErrRefused:
		s.verdict.violate(Kept, a.to, "%s, %s: %s read %d, the write of which was refused", s.store, s.name, a.client, a.value)
	case w.err == "" && then.newest != nil && w.to < then.newest.from:
		s.lost(a, then.newest, "an older value")
	case s.store == history.Unguarded && w.token < then.written:
		s.verdict.LostUpdates++
	}
}

func (s *sweep) lost(a, w *access, instead string) {
	s.verdict.violate(Kept, a.to, "%s, %s: the write of %d by %s was acknowledged at %s, and %s read %s from %s on",
		s.store, s.name, w.value, w.client, seconds(w.to), a.client, instead, seconds(a.from))
}
