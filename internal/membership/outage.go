package membership

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// Outage is a member that should vote and does not.
type Outage struct {
	Address string
	For     time.Duration // the time since the client noticed
	Why     error
	Mend    string // the remedy for an operator
}

// outageAfter is added to the quarantine: when a member has been out for the sum of both, it is
// reported. Most members come back by themselves sooner.
const outageAfter = time.Minute

// outages returns the members that do not vote although they are not suspended, and although this client
// should be able to reach them.
func (w world) outages() (all []Outage) {
	for _, m := range w.view.Table.Members {
		if out := w.outage(m); out.Why != nil {
			all = append(all, out)
		}
	}
	return all
}

// outage returns why a member is out, and the remedy. It returns the zero Outage if nothing is to be
// reported about the member.
func (w world) outage(m Member) Outage {
	t, i, j := w.view.Table, w.serving(m.ID), w.leads(m)
	var why, mend string
	var fault error
	switch {
	case m.State == Suspended, m.State == Voting && i >= 0:
		return Outage{}
	case i >= 0 && w.masters[i].report.synced == "" && len(w.sources()) < t.Quorum():
		why = fmt.Sprintf("it lacks counters: %d members that have them answer, and %d are needed", len(w.sources()), t.Quorum())
		mend = "bring back the others; if their data is gone: redlock init --force"
	case i >= 0:
		why, mend = "it is new, and no client has brought it back", w.replaces(m, i)
	case j >= 0 && w.masters[j].report == nil && errors.Is(w.masters[j].fault, script.ErrNotMember):
		why, fault = "its server may not vote as it is", w.masters[j].fault
		mend = fmt.Sprintf("set that right, or redlock members replace %s NEW", m.Address)
	case j >= 0 && w.masters[j].report == nil:
		why, fault = "its server does not answer", w.masters[j].fault
		mend = fmt.Sprintf("start its server, or redlock members replace %s NEW", m.Address)
	case j >= 0:
		why, mend = fmt.Sprintf("its server at %s lost its data, or is another one", w.masters[j].name), w.replaces(m, j)
		if condition := w.masters[j].report.condition(); condition != "" {
			why = fmt.Sprintf("its server at %s: %s", w.masters[j].name, condition)
		}
	default:
		free := slices.IndexFunc(w.masters, func(o observed) bool {
			r := o.report
			return r != nil && r.bad == nil && r.claim == "" && (r.deployment == "" || r.deployment == w.view.Deployment) && !(r.intact() && t.find(r.id) != nil)
		})
		if free < 0 { // the client's list lacks the member
			return Outage{}
		}
		why = fmt.Sprintf("none of the masters that were given is known to be its server, which may be %s, without its data", w.masters[free].name)
		mend = fmt.Sprintf("give its server too; if that is %s, and lost its data: %s", w.masters[free].name, w.replaces(m, free))
	}
	return Outage{Address: m.Address, Why: printable.Because(errors.New(why), printable.Error(fault)), Mend: mend}
}

// replaces returns the command that gives the server of a master the place of a member.
func (w world) replaces(m Member, master int) string {
	return fmt.Sprintf("redlock members replace %s %s", m.Address, w.masters[master].name)
}

// outageStarts has the start of each member's outage, by address, and whether the outage was reported.
type outageStarts map[string]*outageStart

type outageStart struct {
	since    clock.Instant
	reported bool
}

// update records the present outages (all). It returns each outage once, as soon as the outage has lasted
// for a duration (after). recheck is the time until the next update; 0 means at the next news.
func (o outageStarts) update(now clock.Instant, after time.Duration, all []Outage) (report []Outage, recheck time.Duration) {
	maps.DeleteFunc(o, func(address string, _ *outageStart) bool {
		return !slices.ContainsFunc(all, func(out Outage) bool { return out.Address == address })
	})
	for _, out := range all {
		is := o[out.Address]
		if is == nil {
			is = &outageStart{since: now}
			o[out.Address] = is
		}
		out.For = now.Sub(is.since)
		switch left := after - out.For; {
		case is.reported:
		case left <= 0:
			is.reported = true
			report = append(report, out)
		default:
			recheck = shorterWait(recheck, left)
		}
	}
	return report, recheck
}
