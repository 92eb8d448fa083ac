package membership

import (
	"errors"
	"fmt"
	"slices"

	"github.com/redlock-go/redlock/internal/script"
)

// View is what a client goes by: a version that is committed, its table, and which of the client's
// masters vote in it. Nothing writes to one.
type View struct {
	Deployment string
	Version    string
	Table      *Table

	Out   []error  // by master: why it does not vote; nil if it does, or is not known yet
	IDs   []string // by master: the id of the member that it is; "" if it is none, or not known yet
	Lacks []string // addresses of members that none of the masters is

	// NeedsInit: so many members lost their data that the others cannot tell what it was.
	NeedsInit bool
}

// Number is the part of the version that people are told.
func (v *View) Number() int { return versionNumber(v.Version) }

// MasterOf returns the master that is the member with this id, if it votes; -1 if none is known to.
func (v *View) MasterOf(id string) int {
	for i, other := range v.IDs {
		if other == id && id != "" && v.Out[i] == nil {
			return i
		}
	}
	return -1
}

// Short reports that fewer of the client's masters vote than are needed, as far as is known.
func (v *View) Short() bool {
	votes := 0
	for _, out := range v.Out {
		if out == nil {
			votes++
		}
	}
	return votes < v.Table.Quorum()
}

// had is the deployment of a view, which may be nil, and whether it is lost: so many of its members
// are known to be gone that the others are no quorum. Newer tables that servers have accepted may
// be committed, so the deployment is lost only by these as well.
func (v *View) had(names, seen []string, reports []*report) (deployment string, lost bool) {
	if v == nil {
		return "", false
	}
	lost = v.Table.lost(v.Deployment, names, seen, reports)
	for _, r := range reports {
		if r != nil && r.bad == nil && r.deployment == v.Deployment && r.table != nil && r.version > v.Version {
			lost = lost && r.table.lost(v.Deployment, names, seen, reports)
		}
	}
	return v.Deployment, lost
}

// lost reports whether so many members are gone that the others are no quorum. A member is gone
// when the server at its address, or where this client saw it last, answers and is not that member,
// and no other master is. A member that is silent, or not in the client's list, may live.
func (t *Table) lost(deployment string, names, seen []string, reports []*report) bool {
	gone := 0
	for _, m := range t.Members {
		is := func(r *report) bool { return r != nil && r.deployment == deployment && r.id == m.ID }
		i := slices.Index(names, m.Address)
		if i < 0 {
			i = slices.Index(seen, m.Address)
		}
		if i >= 0 && reports[i] != nil && reports[i].bad == nil && !slices.ContainsFunc(reports, is) {
			gone++
		}
	}
	return len(t.Members)-gone < t.Quorum()
}

// learned is what the reports of servers tell.
type learned struct {
	committed, accepted map[string]string // by deployment: the highest version that is known to be committed, that a server has accepted
	servers             map[string]int    // by deployment: how many belong to it
	silent              int               // servers of which it is not known what they belong to
}

// evidence is every acceptance of a table that was ever seen. An acceptance stays true, whatever
// becomes of the member, so evidence only grows.
type evidence struct {
	accepted  map[string]map[string]bool // by version: ids of members
	committed map[string]bool
	tables    map[string]*Table
}

func newEvidence() *evidence {
	return &evidence{map[string]map[string]bool{}, map[string]bool{}, map[string]*Table{}}
}

// add notes that the member has accepted the table, and whether it knows that it is committed.
func (e *evidence) add(id, version string, t *Table, committed bool) {
	if e.accepted[version] == nil {
		e.accepted[version] = map[string]bool{}
	}
	e.accepted[version][id] = true
	e.tables[version] = t
	if committed || t.committed(e.accepted[version]) {
		e.committed[version] = true
	}
}

// forget drops what is below the version.
func (e *evidence) forget(version string) {
	for v := range e.tables {
		if v < version {
			delete(e.accepted, v)
			delete(e.committed, v)
			delete(e.tables, v)
		}
	}
}

// learn reads the reports (nil: none) by what is known.
func learn(reports []*report, known *evidence) learned {
	l := learned{committed: map[string]string{}, accepted: map[string]string{}, servers: map[string]int{}}
	for _, r := range reports {
		switch {
		case r == nil || r.bad != nil:
			l.silent++
		case r.deployment != "" && r.claim == "":
			l.servers[r.deployment]++
		}
		if r == nil || !r.intact() || r.version == "" {
			continue
		}
		l.accepted[r.deployment] = max(l.accepted[r.deployment], r.version)
		if known.committed[r.version] {
			l.committed[r.deployment] = max(l.committed[r.deployment], r.version)
		}
	}
	return l
}

// deployment chooses the one that a client with these reports belongs to: the one that it had,
// unless that is lost; else the one that has more servers than belong to others, or are not known.
// The error is why there is none to choose.
func (l learned) deployment(had string, lost bool) (string, error) {
	if had != "" && !lost {
		return had, nil
	}
	all := l.silent
	for _, n := range l.servers {
		all += n
	}
	for deployment, n := range l.servers {
		if 2*n > all {
			return deployment, nil
		}
	}
	if had != "" || len(l.servers) < 2 {
		return had, nil
	}
	return "", notAdmitted(fmt.Sprintf("the masters belong to %d deployments: give those of one", len(l.servers)))
}

// viewOf returns the view of a version by the client's masters: what they report (nil: nothing),
// their names, the members that were behind them, and which of them was the first to be this one.
func viewOf(deployment, version string, t *Table, reports []*report, names, seen []string, first func(id string) int) *View {
	v := &View{Deployment: deployment, Version: version, Table: t, Out: make([]error, len(reports)), IDs: make([]string, len(reports))}
	s := situation{view: v, names: names, seen: seen, reports: reports}
	for i, r := range reports {
		if r == nil {
			continue
		}
		why, admitted := "", true
		switch state := t.stateOf(r.id); {
		case !r.intact():
			why = r.fault()
		case state == "" && r.deployment == deployment && s.mayTake(i, s.place(i)):
			why = "it lost its data, and is to take its place again as a new member"
		case r.deployment != deployment:
			why, admitted = fmt.Sprintf("it belongs to another deployment, %.40q", r.deployment), false
		case state == "":
			why, admitted = "it is none of the members, which are "+t.addresses(), false
		case first(r.id) != i:
			why, admitted = sameServer(names[first(r.id)]), false
		case state == New:
			why = "it is new, and does not vote yet"
		case state == Suspended:
			why = "it is suspended"
		}
		switch {
		case !admitted:
			v.Out[i] = notAdmitted(why)
		case why != "":
			v.Out[i] = fmt.Errorf("%w: %s", script.ErrNotMember, why)
		}
		if admitted && r.intact() {
			v.IDs[i] = r.id
		}
	}
	for _, m := range t.Members {
		if s.serving(m.ID) < 0 && s.leads(m) < 0 {
			v.Lacks = append(v.Lacks, m.Address)
		}
	}
	v.NeedsInit = s.beyondRepair()
	return v
}

// beyondRepair reports that so many members of the view's table lost their data, or have none yet,
// that the others cannot tell what it was.
func (s situation) beyondRepair() bool {
	t, lost := s.view.Table, 0
	for _, m := range t.Members {
		i := s.serving(m.ID)
		if m.State == New && (i < 0 || s.reports[i].synced == "") || s.successor(m) >= 0 {
			lost++
		}
	}
	return lost > len(t.Members)-t.Quorum()
}

// unlearnable reports that no committed version can be learned from these reports: there are
// tables, and none of them can be finished, or be of use then, because too many lost their data.
// When all servers that have one did, their tables tell who the members were.
func unlearnable(names []string, reports []*report) bool {
	counts := func(r *report) bool { return r != nil && r.intact() && r.table != nil }
	if !slices.ContainsFunc(reports, counts) {
		counts = func(r *report) bool { return r != nil && r.table != nil }
	}
	tables := 0
	for _, r := range reports {
		if !counts(r) {
			continue
		}
		tables++
		s := situation{view: &View{Deployment: r.deployment, Version: r.version, Table: r.table}, names: names, reports: reports}
		if !s.beyondRepair() && s.lost(r.table.Prev) <= len(r.table.Prev)-majorityOf(len(r.table.Prev)) {
			return false
		}
	}
	return tables > 0
}

// lost is how many of the members with these ids lost their data. Their addresses are in any table
// that lists them.
func (s situation) lost(ids []string) int {
	lost := 0
	for _, id := range ids {
		for _, r := range s.reports {
			if r == nil || r.table == nil {
				continue
			}
			if m := r.table.find(id); m != nil && s.forgotten(*m, func(int) bool { return true }) >= 0 {
				lost++
				break
			}
		}
	}
	return lost
}

// ErrNotAdmitted is the reason, beside script.ErrNotMember, why a server does not vote that will
// not either unless somebody changes the members, or the list of the client's masters.
var ErrNotAdmitted = errors.New("not admitted")

// notAdmitted returns an error that is both, and says why.
func notAdmitted(why string) error { return &notAdmittedError{why} }

type notAdmittedError struct{ why string }

func (e *notAdmittedError) Error() string { return script.ErrNotMember.Error() + ": " + e.why }

func (e *notAdmittedError) Is(target error) bool {
	return target == script.ErrNotMember || target == ErrNotAdmitted
}

func sameServer(other string) string {
	return fmt.Sprintf("it is the same server as %s: give every server once", other)
}

// same reports that two views tell the same.
func (v *View) same(other *View) bool {
	return other != nil && v.Version == other.Version && v.NeedsInit == other.NeedsInit && slices.Equal(v.Lacks, other.Lacks) && slices.Equal(v.IDs, other.IDs) &&
		slices.EqualFunc(v.Out, other.Out, func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
}
