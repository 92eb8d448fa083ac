package membership

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/printable"
)

// Description is what an operator sees of the members.
type Description struct {
	View    *View
	Members []MemberDescription
	Others  []MasterState // masters that are no members

	// Uncommitted: a change was begun that is not known to have been made.
	Uncommitted bool
}

// MemberDescription is one member.
type MemberDescription struct {
	Member
	Master string        // which of the masters is it; "" if none
	Left   time.Duration // of the quarantine, for one that does not vote; 0: it is over, or not known
	Err    error         // why it does not answer, or does not vote though it is to
	Mend   string        // what to do about it, if it does not come back by itself; "" if nothing
	Names  []string      // under which clients reached it, besides the address
}

// Describe asks all masters what they know, and changes nothing but that members are told what is
// committed.
func (g *Group) Describe(ctx context.Context) (Description, error) {
	g.lookFully(ctx)
	s := g.situation()
	if s.view == nil {
		return Description{}, errors.New("the members are not known")
	}
	d := Description{View: s.view, Uncommitted: s.uncommitted != ""}
	left := time.Duration(0)
	if s.view.Table.voting() < len(s.view.Table.Members) {
		left, _ = g.quarantine(ctx, s, s.view)
	}
	faults := g.Faults()
	outages := s.outages(faults)
	for _, m := range s.view.Table.Members {
		is := MemberDescription{Member: m}
		switch i := s.serving(m.ID); {
		case i >= 0:
			is.Master = g.names[i]
		default:
			is.Err = errors.New("none of the masters that were given is this member")
			if j := s.leads(m); j >= 0 && faults[j] != nil {
				is.Err = printable.Error(faults[j])
			}
		}
		if m.State != Voting {
			is.Left = max(left, 0)
		}
		for _, out := range outages {
			if out.Address == m.Address && is.Left == 0 {
				is.Mend = out.Mend
			}
		}
		is.Names = s.namesOf(m.ID)
		d.Members = append(d.Members, is)
	}
	for i, r := range s.reports {
		switch {
		case s.place(i) != nil && (r == nil || !r.intact()):
		case r == nil:
			d.Others = append(d.Others, MasterState{Master: g.names[i], Err: printable.Error(faults[i])})
		case r.intact() && r.deployment == s.view.Deployment && s.view.Table.find(r.id) == nil:
			d.Others = append(d.Others, MasterState{Master: g.names[i], State: "it belongs to the deployment, but is no member"})
		case !r.intact() || s.view.Table.find(r.id) == nil:
			d.Others = append(d.Others, MasterState{Master: g.names[i], State: r.state()})
		case s.view.Out[i] != nil && s.view.Table.stateOf(r.id) == Voting:
			d.Others = append(d.Others, MasterState{Master: g.names[i], Err: s.view.Out[i]})
		}
	}
	return d, nil
}
