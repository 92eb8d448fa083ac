package membership

import (
	"context"
	"slices"
	"strings"
)

// A member whose server lost its data gets its place back from the server that answers in its
// stead. Which one that is follows from the names of the client's masters, in this order: the
// address that the operator gave; the member that this client last saw behind the master; the names
// that the masters remember. A name may be wrong, and only costs a member its vote for a while:
// spec/register has what clients may do by wrong names.

// place returns the member that a master leads to, as far as its name tells, whatever server
// answers there; nil if nothing is known.
func (s situation) place(i int) *Member {
	t := s.view.Table
	if m := t.at(s.names[i]); m != nil {
		return m
	}
	if s.seen != nil && s.seen[i] != "" {
		return t.at(s.seen[i])
	}
	return s.remembered(s.names[i])
}

// remembered returns the one member that has the name, as the masters remember it, and that no
// master serves; nil if there is none, or more than one.
func (s situation) remembered(name string) (found *Member) {
	t := s.view.Table
	for n := range t.Members {
		m := &t.Members[n]
		if s.serving(m.ID) >= 0 || !slices.Contains(s.namesOf(m.ID), name) {
			continue
		}
		if found != nil {
			return nil
		}
		found = m
	}
	return found
}

// namesOf returns the names of a member that masters remember, in order.
func (s situation) namesOf(id string) []string {
	var all []string
	for _, r := range s.reports {
		if r != nil && r.intact() && r.deployment == s.view.Deployment {
			all = append(all, r.names[id]...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// leads returns the first master that leads to the member; -1 if none does.
func (s situation) leads(m Member) int {
	for i := range s.names {
		if is := s.place(i); is != nil && is.ID == m.ID {
			return i
		}
	}
	return -1
}

// named returns the member that has this address or is served by the master of this name; nil if
// there is none.
func (s situation) named(name string) *Member {
	if m := s.view.Table.at(name); m != nil {
		return m
	}
	if i := slices.Index(s.names, name); i >= 0 && s.reports[i] != nil && s.reports[i].intact() {
		return s.view.Table.find(s.reports[i].id)
	}
	return nil
}

// Lists reports that a member has this address or is served by the master of this name.
func (g *Group) Lists(name string) bool {
	s := g.situation()
	return s.view != nil && s.named(name) != nil
}

// see notes which members are behind the client's masters. The caller holds mu.
func (g *Group) see(v *View) {
	for i, r := range g.reports {
		if r == nil || !r.intact() || r.deployment != v.Deployment {
			continue
		}
		if m := v.Table.find(r.id); m != nil {
			g.seen[i] = m.Address
		}
	}
}

// tellNames tells the members under which names this client reaches members, where they do not
// remember it. That is a hint: it is tried once at each version, and nobody waits for it.
func (g *Group) tellNames(v *View) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	for i, r := range g.reports {
		if r == nil || !r.intact() || r.version != v.Version || v.Table.find(r.id) == nil {
			continue
		}
		var news []any
		for j, other := range g.reports {
			if other == nil || !other.intact() || other.deployment != v.Deployment {
				continue
			}
			m := v.Table.find(other.id)
			if m == nil || m.Address == g.names[j] || slices.Contains(r.names[m.ID], g.names[j]) || strings.Contains(g.names[j], "\n") {
				continue
			}
			if told := r.id + " " + m.ID + " " + g.names[j]; !g.toldNames[told] {
				g.toldNames[told] = true
				news = append(news, m.ID, g.names[j])
			}
		}
		if news != nil {
			g.tasks.Go(func() {
				ctx, cancel := context.WithTimeout(g.ctx, g.Timeout)
				defer cancel()
				_ = g.Masters[i].Eval(ctx, reachedScript, []string{g.key}, append([]any{r.id}, news...)...)
			})
		}
	}
}
