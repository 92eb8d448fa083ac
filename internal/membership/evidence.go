package membership

import (
	"fmt"
	"slices"
)

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

// learned is what the reports of servers show.
type learned struct {
	committed, accepted map[string]string // by deployment: the highest version that is known to be committed, that a server has accepted
	servers             map[string]int    // by deployment: how many belong to it
	silent              int               // servers of which it is not known what they belong to
}

// learn reads the reports of a world by what is known.
func (w world) learn(known *evidence) learned {
	l := learned{committed: map[string]string{}, accepted: map[string]string{}, servers: map[string]int{}}
	for _, m := range w.masters {
		r := m.report
		switch {
		case r == nil || r.bad != nil:
			l.silent++
		case r.deployment != "" && r.claim == "":
			l.servers[r.deployment]++
		}
		if !r.intact() || r.version == "" {
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

// had returns the deployment of the view, if there is one, and whether that is lost: so many of its
// members are known to be gone that the others are no quorum. Newer tables that servers have
// accepted may be committed, so the deployment is lost only by these as well.
func (w world) had() (deployment string, lost bool) {
	v := w.view
	if v == nil {
		return "", false
	}
	lost = w.gone(v.Deployment, v.Table)
	for _, m := range w.masters {
		if r := m.report; r != nil && r.bad == nil && r.deployment == v.Deployment && r.table != nil && r.version > v.Version {
			lost = lost && w.gone(v.Deployment, r.table)
		}
	}
	return v.Deployment, lost
}

// gone reports whether so many members of a table are gone that the others are no quorum. A member
// is gone when the server at its address, or where this client saw it last, answers and is not that
// member, and no other master is. A member that is silent, or not in the client's list, may live.
func (w world) gone(deployment string, t *Table) bool {
	gone := 0
	for _, m := range t.Members {
		i := w.index(m.Address)
		if i < 0 {
			i = slices.IndexFunc(w.masters, func(o observed) bool { return o.was == m.Address })
		}
		is := func(o observed) bool {
			return o.report != nil && o.report.deployment == deployment && o.report.id == m.ID
		}
		if i >= 0 && w.masters[i].report != nil && w.masters[i].report.bad == nil && !slices.ContainsFunc(w.masters, is) {
			gone++
		}
	}
	return len(t.Members)-gone < t.Quorum()
}
