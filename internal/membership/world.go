package membership

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

// observed is what is known of one master.
type observed struct {
	name    string  // the address that the client was given
	report  *report // the last one; nil: none
	fault   error   // why the last look failed: no step relies on the report while it is set
	refused bool    // the master refused a call since the report
	looking bool    // a report has been asked for
	pushing bool    // it is being sent what is committed
	pushed  *report // that is not sent again before the next report

	run    string        // the process that reported last
	runAt  clock.Instant // when a report of that process came first
	was    string        // the address of the member that was last seen behind it; "": none was
	unable clock.Instant // a step failed here: no other is taken before
}

// world is what decisions are made from.
type world struct {
	now         clock.Instant
	masters     []observed
	view        *View  // nil: no version is known to be committed
	highest     string // the highest version that a server has accepted
	uncommitted bool   // it is not known to be committed
	conflict    error  // why the masters are of no one deployment
}

// fault returns why a master cannot vote, or nil if nothing is known against it.
func (w world) fault(i int) error {
	m := w.masters[i]
	switch {
	case m.fault != nil:
		return m.fault
	case m.report != nil && !m.report.intact():
		return fmt.Errorf("%w: %s", script.ErrNotMember, m.report.condition())
	case w.view != nil:
		return w.view.Out[i]
	case w.conflict != nil || m.report == nil:
		return w.conflict
	}
	return errTooFew
}

// errTooFew is why the report of a member is of no use.
var errTooFew = errors.New("too few of the other masters answer to show who votes")

// serving returns the master whose server is the member; -1 if there is none.
func (w world) serving(id string) int {
	return slices.IndexFunc(w.masters, func(m observed) bool { return m.report.is(id) })
}

// distinct returns a master for each member whose server is intact and of which this is true. A
// server under two addresses is one member: counted twice, one server could be a quorum.
func (w world) distinct(is func(r *report) bool) (masters []int) {
	seen := map[string]bool{}
	return w.where(func(r *report) bool {
		first := !seen[r.id] && is(r)
		seen[r.id] = seen[r.id] || first
		return first
	})
}

// where returns the masters whose server is intact and of which this is true.
func (w world) where(is func(r *report) bool) (masters []int) {
	for i, m := range w.masters {
		if m.report.intact() && is(m.report) {
			masters = append(masters, i)
		}
	}
	return masters
}

// members returns the masters of the members in the view's table.
func (w world) members() []int {
	return w.distinct(func(r *report) bool {
		return r.deployment == w.view.Deployment && w.view.Table.find(r.id) != nil
	})
}

// sources returns the masters of the members whose counters at the view's version are complete.
func (w world) sources() []int {
	return w.distinct(func(r *report) bool { return r.votedAt(w.view) })
}

// staying returns the masters of the members at the view's version that vote, and do so in the
// table after it.
func (w world) staying(next *Table) []int {
	return w.distinct(func(r *report) bool { return r.version == w.view.Version && next.stateOf(r.id) == Voting })
}

// mayChange reports whether so many members answer that they can promise a change. Without them, a
// proposal comes to nothing, and those that promise it refuse what another client proposes.
func (w world) mayChange() bool {
	may := slices.DeleteFunc(w.members(), func(i int) bool { return w.masters[i].report.weakened() })
	return len(may) >= w.view.Table.Quorum()
}

// The server of a member that lost its data gets the place of that member. Which server that is
// follows from the names of the client's masters, in this order: the address that the operator
// gave; the member that this client saw behind the master last; the names that the masters
// remember. A name may be wrong, and then costs a member its vote for a while: spec/register has
// what clients may do by wrong names.

// place returns the member that a master leads to by its name, whatever server answers there; nil
// if none is known.
func (w world) place(i int) *Member {
	t, m := w.view.Table, w.masters[i]
	if is := t.at(m.name); is != nil {
		return is
	}
	if m.was != "" {
		return t.at(m.was)
	}
	return w.remembered(m.name)
}

// remembered returns the one member that has the name, as the masters remember it, and that no
// master serves; nil if there is none, or more than one.
func (w world) remembered(name string) (found *Member) {
	t := w.view.Table
	for n := range t.Members {
		m := &t.Members[n]
		if w.serving(m.ID) >= 0 || !slices.Contains(w.namesOf(m.ID), name) {
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
func (w world) namesOf(id string) []string {
	var all []string
	for _, m := range w.masters {
		if m.report.intact() && m.report.deployment == w.view.Deployment {
			all = append(all, m.report.names[id]...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// leads returns the first master that leads to the member; -1 if none does.
func (w world) leads(to Member) int {
	for i := range w.masters {
		if m := w.place(i); m != nil && m.ID == to.ID {
			return i
		}
	}
	return -1
}

// named returns the member that has this address or is served by the master of this name; nil if
// there is none.
func (w world) named(name string) *Member {
	if m := w.view.Table.at(name); m != nil {
		return m
	}
	if i := w.index(name); i >= 0 && w.masters[i].report.intact() {
		return w.view.Table.find(w.masters[i].report.id)
	}
	return nil
}

// index returns the master of this name; -1 if there is none.
func (w world) index(name string) int {
	return slices.IndexFunc(w.masters, func(m observed) bool { return m.name == name })
}

// successor returns the master that leads to a member that no server is, and whose server may take
// the place of that member; -1 if there is none.
func (w world) successor(of Member) int {
	return w.forgotten(of, func(i int) bool { return w.mayTake(i, &of) })
}

// mayTake reports whether a server that is no member may take the place of m. One whose own place
// was given to another while it had lost nothing takes a place only at the address of that: by
// other names two clients could take two servers for a member, in turn.
func (w world) mayTake(i int, m *Member) bool {
	r := w.masters[i].report
	switch {
	case m == nil || r.intact() && w.view.Table.find(r.id) != nil:
		return false
	case w.masters[i].name == m.Address:
		return true
	}
	return !r.intact() || r.isNew()
}

// forgotten returns the master that leads to a member that no server is, whose server has lost the
// member's data and of which this is true; -1 if there is none. The address comes before other
// names.
func (w world) forgotten(of Member, is func(master int) bool) int {
	if w.serving(of.ID) >= 0 {
		return -1
	}
	other := -1
	for i, m := range w.masters {
		r := m.report
		if r == nil || r.bad != nil || r.claim != "" || r.returns() && w.view.Table.isDurable(r.id) || r.deployment != "" && r.deployment != w.view.Deployment || !is(i) {
			continue
		}
		if m.name == of.Address {
			return i
		}
		if place := w.place(i); other < 0 && place != nil && place.ID == of.ID {
			other = i
		}
	}
	return other
}

// beyondRepair reports whether so many members of the view's table lost their data, or have none
// yet, that the others do not have all of it.
func (w world) beyondRepair() bool {
	t, lost := w.view.Table, 0
	for _, m := range t.Members {
		i := w.serving(m.ID)
		if m.State == New && (i < 0 || w.masters[i].report.synced == "") || w.successor(m) >= 0 {
			lost++
		}
	}
	return lost > len(t.Members)-t.Quorum()
}

// unlearnable reports whether no committed version can be learned from these reports: there are
// tables, and none of them can be finished, or be of use then, because too many lost their data.
// When all servers that have one did, their tables list who the members were.
func (w world) unlearnable() bool {
	counts := func(m observed) bool { return m.report.intact() && m.report.table != nil }
	if !slices.ContainsFunc(w.masters, counts) {
		counts = func(m observed) bool { return m.report != nil && m.report.table != nil }
	}
	tables := 0
	for _, m := range w.masters {
		if !counts(m) {
			continue
		}
		tables++
		r := m.report
		w.view = &View{Deployment: r.deployment, Version: r.version, Table: r.table}
		if !w.beyondRepair() && w.lost(r.table.Prev) <= len(r.table.Prev)-majorityOf(len(r.table.Prev)) {
			return false
		}
	}
	return tables > 0
}

// lost is how many of the members with these ids lost their data. Their addresses are in any table
// that lists them.
func (w world) lost(ids []string) int {
	lost := 0
	for _, id := range ids {
		for _, m := range w.masters {
			if m.report == nil || m.report.table == nil {
				continue
			}
			if of := m.report.table.find(id); of != nil && w.forgotten(*of, func(int) bool { return true }) >= 0 {
				lost++
				break
			}
		}
	}
	return lost
}
