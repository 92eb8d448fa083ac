package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/printable"
)

// Description describes the members for an operator.
type Description struct {
	View    *View
	Members []MemberDescription
	Others  []MasterState // masters that are no members

	// Uncommitted: a change was begun, and may be unfinished.
	Uncommitted bool
}

// MemberDescription describes one member.
type MemberDescription struct {
	Member
	Master string        // the master that is this member; "" if none is
	Left   time.Duration // the rest of the quarantine, if the member does not vote; 0: over, or not known
	Err    error         // why no master answers as this member; nil if a master does
	Mend   string        // what an operator must do if the member does not come back by itself; "" if nothing
	Names  []string      // other names than Address under which clients reached the member
}

// Condition describes why a member in this state does not vote; "" if it may vote. The text does not
// contain the member's name. left is the rest of the quarantine. out is true if no server answers as
// the member.
func (s State) Condition(left time.Duration, out bool) string {
	switch {
	case s == New && left > 0:
		return fmt.Sprintf("is new, and does not vote for %v", left.Round(100*time.Millisecond))
	case s == New:
		return "is new, and does not vote before it has the counters of the others"
	case s == Suspended && left > 0:
		return fmt.Sprintf("is suspended, and does not vote until it is resumed; may be removed in %v", left.Round(100*time.Millisecond))
	case s == Suspended:
		return "is suspended, and does not vote until it is resumed"
	case out:
		return "does not vote now"
	}
	return ""
}

// Describe asks all masters for reports, and describes the members. It changes nothing, except that
// members may learn that the version is committed.
func (g *Group) Describe(ctx context.Context) (Description, error) {
	w := g.observe(ctx, true)
	if w.view == nil {
		return Description{}, errors.New("the members are not known")
	}
	t := w.view.Table
	d := Description{View: w.view, Uncommitted: w.uncommitted}
	left, _, known := w.quarantine()
	for _, m := range t.Members {
		is := MemberDescription{Member: m, Names: w.namesOf(m.ID)}
		if i := w.serving(m.ID); i >= 0 {
			is.Master = w.masters[i].name
		} else {
			is.Err = errors.New("none of the masters that were given is this member")
			if j := w.leads(m); j >= 0 && w.fault(j) != nil {
				is.Err = printable.Error(w.fault(j))
			}
		}
		if m.State != Voting && known {
			is.Left = max(left, 0)
		}
		if is.Left == 0 {
			is.Mend = w.outage(m).Mend
		}
		d.Members = append(d.Members, is)
	}
	for i, m := range w.masters {
		other, r := m.state(), m.report
		switch {
		case w.place(i) != nil && !r.intact(): // the description of the member at this place has the fault
			continue
		case !r.intact(), r.deployment != w.view.Deployment:
		case t.find(r.id) == nil:
			other.State = "it belongs to the deployment, but is no member"
		case w.view.Out[i] != nil && t.stateOf(r.id) == Voting:
			other = MasterState{Master: m.name, Err: w.view.Out[i]}
		default:
			continue
		}
		d.Others = append(d.Others, other)
	}
	return d, nil
}

// MasterState is the state of a master, from nothing but its own report. Either State or Err is set.
type MasterState struct {
	Master string // its address
	State  string // in words
	Err    error  // why there is no state
}

func (m observed) state() MasterState {
	switch {
	case m.report != nil:
		return MasterState{Master: m.name, State: m.report.state()}
	case m.fault != nil:
		return MasterState{Master: m.name, Err: printable.Error(m.fault)}
	}
	return MasterState{Master: m.name, Err: errors.New("it has not answered yet")}
}
