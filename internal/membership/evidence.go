package membership

import (
	"fmt"
	"maps"
	"slices"
)

// evidence records, by version, which members have accepted the version, as far as this client has seen.
// An acceptance counts even after the member was lost.
type evidence map[string]*acceptance

type acceptance struct {
	table     *Table
	by        map[string]bool // the ids of the members that have accepted the table
	committed bool            // the version is known to be committed
}

func (e evidence) add(id string, a acceptedTable) {
	is := e[a.version]
	if is == nil {
		is = &acceptance{table: a.table, by: map[string]bool{}}
		e[a.version] = is
	}
	is.by[id] = true
	is.committed = is.committed || a.learned || a.table.committed(is.by)
}

// committed reports whether a version is known to be committed.
func (e evidence) committed(version string) bool { return e[version] != nil && e[version].committed }

// forget removes all versions below this version.
func (e evidence) forget(version string) {
	maps.DeleteFunc(e, func(v string, _ *acceptance) bool { return v < version })
}

// learned is what the servers' reports show about the client's deployment.
type learned struct {
	deployment          string // "": no deployment is known
	conflict            error  // why no deployment can be chosen
	committed, accepted string // the highest version that is known to be committed; the highest that a server has accepted
}

// learn derives the deployment and its versions from the reports of a world and the evidence. It keeps the
// current deployment. If there is none, or if it is lost, learn chooses the deployment to which more than
// half of the servers belong. A server without a deployment, or with an unfinished init, does not count. A
// server whose deployment is not known counts against each deployment.
func (w world) learn(known evidence) (l learned) {
	servers, all := map[string]int{}, 0
	for _, m := range w.masters {
		switch r := m.report; {
		case r == nil || r.bad != nil: // this server may belong to any deployment
			all++
		case r.deployment != "" && r.claim == "":
			servers[r.deployment]++
			all++
		}
	}
	current, lost := w.currentDeployment()
	l.deployment = current
	for deployment, n := range servers {
		if (current == "" || lost) && 2*n > all {
			l.deployment = deployment
		}
	}
	if l.deployment == "" && len(servers) > 1 {
		l.conflict = notAdmitted(fmt.Sprintf("the masters belong to %d deployments: give those of one", len(servers)))
	}
	for _, m := range w.masters {
		if r := m.report; r.intact() && r.deployment == l.deployment {
			l.accepted = max(l.accepted, r.version)
			if known.committed(r.version) {
				l.committed = max(l.committed, r.version)
			}
		}
	}
	return l
}

// currentDeployment returns the deployment of the view, or "" without a view. lost is true if so many
// members of the view's table are gone that the others are no quorum, and the same is true of each
// newer table that a server has accepted. (A newer table may be committed.)
func (w world) currentDeployment() (deployment string, lost bool) {
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

// gone reports whether so many members of a table are gone that the others are no quorum. A member is
// gone if no master is that member, and another server answers at the member's address. (If no master
// has this address, the server at the master where this client last saw the member counts.) A silent
// member, or one outside the client's list, may be alive, and is not gone.
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
