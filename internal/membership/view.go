package membership

import (
	"fmt"
	"slices"

	"github.com/redlock-go/redlock/internal/script"
)

// View is a client's view of the members: a committed version, its table, and which of the client's
// masters vote in it. A View is never modified.
type View struct {
	Deployment string
	Version    string
	Table      *Table

	Out   []error  // by master: why it does not vote; nil if it votes, or has not reported yet
	IDs   []string // by master: its member id; "" if it is no member, or has not reported yet
	Lacks []string // addresses of the members to which none of the client's masters leads

	// NeedsInit: so many members lost their data that some grants may be on none of the others.
	NeedsInit bool
}

// Number returns the number of the version, for messages.
func (v *View) Number() int { return versionNumber(v.Version) }

// MasterOf returns the voting master that is the member with this id; -1 if none is known.
func (v *View) MasterOf(id string) int {
	for i, other := range v.IDs {
		if other == id && id != "" && v.Out[i] == nil {
			return i
		}
	}
	return -1
}

// Short reports whether fewer than a quorum of the client's masters vote. A master that has not
// reported yet counts as voting.
func (v *View) Short() bool {
	votes := 0
	for _, out := range v.Out {
		if out == nil {
			votes++
		}
	}
	return votes < v.Table.Quorum()
}

// same reports whether two views are equal.
func (v *View) same(other *View) bool {
	return other != nil && v.Version == other.Version && v.NeedsInit == other.NeedsInit && slices.Equal(v.Lacks, other.Lacks) && slices.Equal(v.IDs, other.IDs) &&
		slices.EqualFunc(v.Out, other.Out, func(a, b error) bool { return fmt.Sprint(a) == fmt.Sprint(b) })
}

// viewOf returns the view of a version in a world. first(id) is the master that counts as
// the member with this id.
func (w world) viewOf(deployment, version string, t *Table, first func(id string) int) *View {
	n := len(w.masters)
	v := &View{Deployment: deployment, Version: version, Table: t, Out: make([]error, n), IDs: make([]string, n)}
	w.view = v
	for i, m := range w.masters {
		r := m.report
		if r == nil {
			continue
		}
		why, admitted := "", true
		switch state := t.stateOf(r.id); {
		case !r.intact():
			why = r.condition()
		case state == "" && r.deployment == deployment && w.mayTake(i, w.place(i)):
			why = "it lost its data, and gets its place back as a new member"
		case r.deployment != deployment:
			why, admitted = fmt.Sprintf("it belongs to another deployment, %.40q", r.deployment), false
		case state == "":
			why, admitted = "it is none of the members, which are "+t.addresses(), false
		case first(r.id) != i:
			why, admitted = sameServer(w.masters[first(r.id)].name), false
		case state != Voting:
			why = "it " + state.Condition(0, false)
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
		if w.serving(m.ID) < 0 && w.leads(m) < 0 {
			v.Lacks = append(v.Lacks, m.Address)
		}
	}
	v.NeedsInit = w.beyondRepair()
	return v
}

// ErrNotAdmitted wraps script.ErrNotMember. A server with this error can vote only after an operator has
// changed the members, or the client's list of masters.
var ErrNotAdmitted = fmt.Errorf("%w", script.ErrNotMember) // with the same text

func notAdmitted(why string) error { return fmt.Errorf("%w: %s", ErrNotAdmitted, why) }

func sameServer(other string) string {
	return fmt.Sprintf("it is the same server as %s: give every server once", other)
}
