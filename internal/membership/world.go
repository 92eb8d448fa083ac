package membership

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/script"
)

// observed is what this client has observed of one master.
type observed struct {
	name    string  // the address that the client was given
	report  *report // the last report; nil: none
	fault   error   // why the last look failed; while this is set, no step relies on report
	refused bool    // the master has refused a request since it reported
	looking bool    // the master was asked for a report that has not arrived yet
	again   bool    // when that report has arrived, the master must be asked once more
	pushing bool    // the committed version is being sent to the master
	pushed  *report // the last report before the version was sent: only another report can make push send again

	run    string        // the process that reported last
	runAt  clock.Instant // when the first report of that process came
	was    string        // the address of the member that this master was last; "": it was never a member
	unable clock.Instant // before this time, no step is taken at this master, because a step failed there
}

// world is the input of decisions: what was observed of all masters, and what follows from it for the
// members.
type world struct {
	now         clock.Instant
	masters     []observed
	view        *View  // nil: no version is known to be committed
	highest     string // the highest version that a server of the deployment has accepted
	uncommitted bool   // the highest version is not known to be committed
	conflict    error  // set if no deployment can be chosen, because the masters belong to several
}

// fault returns why a master cannot vote; nil if no reason is known.
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

// errTooFew is the fault of a master that answers, while no version is known to be committed.
var errTooFew = errors.New("too few of the other masters answer to show who votes")

// serving returns the master whose server is the member with this id; -1 if there is none.
func (w world) serving(id string) int {
	return slices.IndexFunc(w.masters, func(m observed) bool { return m.report.is(id) })
}

// distinct returns the same masters as where(), but only one master for each member id. Otherwise a
// server with two addresses would count twice, and one server could be a quorum.
func (w world) distinct(is func(r *report) bool) (masters []int) {
	seen := map[string]bool{}
	return w.where(func(r *report) bool {
		first := !seen[r.id] && is(r)
		seen[r.id] = seen[r.id] || first
		return first
	})
}

// where() returns the masters whose server is intact, and for whose report is(report) is true.
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

// sources returns the masters of the members that are at the view's version and have all counters.
func (w world) sources() []int {
	return w.distinct(func(r *report) bool { return r.votedAt(w.view) })
}

// staying returns the masters of the members that are at the view's version and vote in the next table.
func (w world) staying(next *Table) []int {
	return w.distinct(func(r *report) bool { return r.version == w.view.Version && next.stateOf(r.id) == Voting })
}

// mayChange reports whether a quorum of members answers and can promise a ballot. Without this quorum a
// proposal cannot succeed. It would only make members refuse other clients' proposals with lower ballots.
func (w world) mayChange() bool {
	may := slices.DeleteFunc(w.members(), func(i int) bool { return w.masters[i].report.weakened() })
	return len(may) >= w.view.Table.Quorum()
}

// When a member's server lost its data, the server gets the member's place back. To find this server,
// the client compares its masters' names with the member's names, in this order: the canonical address;
// the name under which this client saw the member last; the names that the masters remember. A wrong
// name costs a member its vote for a while. spec/register has a model of this.

// place returns the member to which a master's name should lead, even if another server answers there;
// nil if no such member is known.
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

// remembered returns the member that the masters remember under this name. Members that have a server do
// not count. remembered returns nil if there is no such member, or more than one.
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

// namesOf returns the sorted names under which the masters remember a member.
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

// leads returns the first master whose name should lead to the member; -1 if there is none.
func (w world) leads(to Member) int {
	for i := range w.masters {
		if m := w.place(i); m != nil && m.ID == to.ID {
			return i
		}
	}
	return -1
}

// named returns the member with this address. If there is no such member, it returns the member whose
// server answers at the master of this name, or nil.
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

// successor returns the master whose server may take a member's place. It returns -1 if the member has a
// server, or if there is no such master.
func (w world) successor(of Member) int {
	return w.forgotten(of, func(i int) bool { return w.mayTake(i, &of) })
}

// mayTake reports whether a master's server may take the place of m. The server of another member may not
// take it. A server that kept its data, but lost its own place to another server, may take a place only
// if the master has m's address: by other names, two clients could give one place to two servers in turn.
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

// forgotten returns a master whose name should lead to a member that has no server; -1 if there is none. It
// considers only a master i for which is(i) is true, and whose server does not belong to another deployment
// or to an init, and cannot get its old id back. A master with the member's address comes first.
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

// beyondRepair reports whether so many members of the view's table lost their data, or have no
// counters yet, that the others are no quorum. Then some grants may be on none of the others.
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

// unlearnable reports whether there are tables in the reports, but no client can find out which version
// is committed: for each table, too many members lost their data. The table of a server that lost its
// data counts only if all servers with a table lost their data.
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

// lost() returns how many of the members with these ids lost their data. To find this out, it needs each
// member's address. Any reported table that lists the member has this address.
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
