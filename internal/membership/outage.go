package membership

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// Outage is a member that is to vote and does not.
type Outage struct {
	Address string
	For     time.Duration // as long as the client knows
	Why     error
	Mend    string // what an operator does about it
}

// outageAfter is how long a member may be out beyond the quarantine before that is told: most come
// back by themselves within it.
const outageAfter = time.Minute

// outages returns the members that do not vote, are not suspended, and that this client should be
// able to reach. faults has why masters could not vote when they were asked last.
func (s situation) outages(faults []error) (all []Outage) {
	t := s.view.Table
	for _, m := range t.Members {
		i, j := s.serving(m.ID), s.leads(m)
		out := Outage{Address: m.Address}
		switch {
		case m.State == Suspended, m.State == Voting && i >= 0:
			continue
		case i >= 0 && s.reports[i].synced == "" && len(s.sources(s.view)) < t.Quorum():
			out.Why = fmt.Errorf("it lacks counters: %d members that have them answer, and %d are needed", len(s.sources(s.view)), t.Quorum())
			out.Mend = "bring back the others; if their data is gone: redlock init --force"
		case i >= 0:
			out.Why = errors.New("it is new, and no client has brought it back")
			if faults[i] != nil {
				out.Why = fmt.Errorf("%w: %w", out.Why, printable.Error(faults[i]))
			}
			out.Mend = fmt.Sprintf("redlock members replace %s %s", m.Address, s.names[i])
		case j >= 0 && s.reports[j] == nil && errors.Is(faults[j], script.ErrNotMember):
			out.Why = fmt.Errorf("its server may not vote as it is: %w", printable.Error(faults[j]))
			out.Mend = fmt.Sprintf("set that right, or redlock members replace %s NEW", m.Address)
		case j >= 0 && s.reports[j] == nil:
			out.Why = errors.New("its server does not answer")
			if faults[j] != nil {
				out.Why = fmt.Errorf("%w: %w", out.Why, printable.Error(faults[j]))
			}
			out.Mend = fmt.Sprintf("start its server, or redlock members replace %s NEW", m.Address)
		case j >= 0:
			out.Why = fmt.Errorf("its server at %s lost its data, or is another one", s.names[j])
			if why := s.reports[j].fault(); why != "" {
				out.Why = fmt.Errorf("its server at %s: %s", s.names[j], why)
			}
			out.Mend = fmt.Sprintf("redlock members replace %s %s", m.Address, s.names[j])
		default:
			free := slices.IndexFunc(s.reports, func(r *report) bool {
				return r != nil && r.bad == nil && r.claim == "" && (r.deployment == "" || r.deployment == s.view.Deployment) && !(r.intact() && t.find(r.id) != nil)
			})
			if free < 0 {
				continue // the client's list does not have it
			}
			out.Why = fmt.Errorf("none of the masters that were given is known to be its server, which may be %s, without its data", s.names[free])
			out.Mend = fmt.Sprintf("give its server too; if that is %s, and lost its data: redlock members replace %s %s", s.names[free], m.Address, s.names[free])
		}
		all = append(all, out)
	}
	return all
}

// outs has the members that are out, by address.
type outs map[string]*outSince

type outSince struct {
	since clock.Instant
	told  bool
}

// update takes what is out now. It returns what is to be told, because it has lasted for the
// patience, and when to look again; 0: never.
func (o outs) update(now clock.Instant, patience time.Duration, all []Outage) (tell []Outage, again time.Duration) {
	for address := range o {
		if !slices.ContainsFunc(all, func(out Outage) bool { return out.Address == address }) {
			delete(o, address)
		}
	}
	for _, out := range all {
		is := o[out.Address]
		if is == nil {
			is = &outSince{since: now}
			o[out.Address] = is
		}
		out.For = now.Sub(is.since)
		switch left := patience - out.For; {
		case is.told:
		case left <= 0:
			is.told = true
			tell = append(tell, out)
		case again == 0 || left < again:
			again = left
		}
	}
	return tell, again
}

// watchOutages tells of members that are out for too long, and returns when to look again; 0:
// never.
func (g *Group) watchOutages() time.Duration {
	s := g.situation()
	if s.view == nil {
		return 0
	}
	all := s.outages(g.Faults())
	tell, again := g.outs.update(g.Now(), s.view.Table.Quarantine()+outageAfter, all)
	g.someOut.Store(len(all) > 0)
	for _, out := range tell {
		g.Out(out)
	}
	return again
}
