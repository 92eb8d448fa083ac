package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// Init founds a deployment of the group's masters, or finishes an Init that was interrupted. It raises
// each counter, on all masters, to the highest value that a master has for it, and at least to floor. If
// the deployment exists, Init only raises the counters to floor at least. If force is true, Init founds
// a new deployment even if the masters belong to another. It returns a *RefusedError if the masters
// cannot form a deployment. spec/register has a model of Init.
func (g *Group) Init(ctx context.Context, floor int64, force bool) error {
	reports, err := g.inspect(ctx, g.allRights()...)
	if err != nil {
		return err
	}
	if err := g.foundable(reports, force); err != nil {
		return err
	}
	if i := slices.IndexFunc(reports, func(r *report) bool { return r.table != nil }); i >= 0 && !force {
		if err := g.finishInit(ctx, reports, reports[i]); err != nil {
			return err
		}
		return g.raiseMembers(ctx, floor)
	}
	var ballots []string
	for _, r := range reports {
		ballots = append(ballots, r.promised, r.claimed)
	}
	how := map[bool]string{true: "force"}
	deployment, ballot, ids := uuid.NewString(), versionAfter(ballots...), make([]string, len(reports))
	floors := slices.Repeat([]int64{floor}, script.Buckets)
	if err := g.atAll(func(i int) (err error) {
		ids[i], err = g.Masters[i].EvalText(ctx, claimScript, []string{g.key}, reports[i].run, deployment, uuid.NewString(), g.claimed(), ballot, how[force])
		return err
	}, func(i int) error {
		present, err := g.counters(ctx, i, ids[i], "", 0)
		raiseTo(floors, present)
		return err
	}, func(i int) error {
		return g.raise(ctx, i, ids[i], "", false, floors)
	}); err != nil {
		return err
	}
	// Ask all masters again after the last claim, because a master may have lost its claim with its data
	// meanwhile. If all masters still have the claim, no other init has founded a deployment.
	if reports, err = g.inspect(ctx); err != nil {
		return err
	}
	table := &Table{Format: format, Buckets: script.Buckets, MaxTTL: g.MaxTTL.Milliseconds(), Drift: g.Drift, Prev: ids}
	err = g.atAll(func(i int) error {
		if r := reports[i]; !r.intact() || r.deployment != deployment || r.id != ids[i] || r.claimed != ballot || r.claim == "" {
			return refused("another init is under way, or it lost its data meanwhile: run it again")
		}
		table.Members = append(table.Members, Member{ID: ids[i], State: Voting, Address: g.Masters[i].Name, Durable: reports[i].durable == durable})
		return nil
	})
	if err != nil {
		return err
	}
	return g.found(ctx, deployment, ballot, table, ids, "")
}

// found makes the servers accept the first table of a deployment. ids has their member ids, with "" for a
// server that needs no request. how is "finish" if a server has already accepted the table; otherwise "".
//
// Once a server has accepted the table, a waiting client may see the table there, and commit it or change
// the members. The other servers then refuse found's request, although the founding has not failed. So
// found waits until a version of the deployment is committed, by that client or by this group.
func (g *Group) found(ctx context.Context, deployment, version string, t *Table, ids []string, how string) error {
	overtaken := false
	err := g.atAll(func(i int) error {
		if ids[i] == "" {
			return nil
		}
		err := g.Masters[i].Eval(ctx, foundScript, []string{g.key}, deployment, ids[i], version, t.text(), how)
		if how != "" && master.HasPrefix(err, "CLAIMED") {
			overtaken = true
			return nil
		}
		how = "finish"
		return err
	})
	if err != nil {
		return err
	}
	g.observe(ctx, false)
	if overtaken && !g.until(ctx, g.Timeout, func() bool { v := g.view.Load(); return v != nil && v.Deployment == deployment }) {
		return printable.Join(errNotCommitted, ctx.Err())
	}
	return nil
}

// atAll takes the first step at all masters, one after the other, then the second step at all masters,
// and so on. It stops at the first error, and returns this error with the name of the master.
func (g *Group) atAll(steps ...func(i int) error) error {
	for _, step := range steps {
		for i, m := range g.Masters {
			err := step(i)
			if master.HasPrefix(err, "CLAIMED") || master.HasPrefix(err, "BELONGS") {
				err = refused("another init or change was faster: run it again")
			}
			if why, is := errors.AsType[*RefusedError](err); is {
				return refused("%s: %s", m.Name, why.Why)
			} else if err != nil {
				return fmt.Errorf("%s: %w", m.Name, err)
			}
		}
	}
	return nil
}

// finishInit makes the masters without a table accept the table that one master has accepted.
func (g *Group) finishInit(ctx context.Context, reports []*report, accepted *report) error {
	ids := make([]string, len(reports))
	err := g.atAll(func(i int) error {
		switch r := reports[i]; {
		case r.claim == "":
			return nil
		case accepted.table.find(r.id) == nil || !r.intact():
			return refused("another init has claimed it by force, or it lost its data: run init with force")
		}
		ids[i] = reports[i].id
		return nil
	})
	if err != nil {
		return err
	}
	return g.found(ctx, accepted.deployment, accepted.version, accepted.table, ids, "finish")
}

// claimed returns the claim that an init of these masters writes to each master.
func (g *Group) claimed() string { return strings.Join(g.names(), "\n") }

func (g *Group) names() []string {
	var all []string
	for _, m := range g.Masters {
		all = append(all, m.Name)
	}
	return sortedCopy(all)
}

// inspect asks all masters for reports. It fails if a master does not report, or if rights are missing.
func (g *Group) inspect(ctx context.Context, rights ...master.Command) ([]*report, error) {
	reports, failures := make([]*report, len(g.Masters)), make([]error, len(g.Masters))
	var all []int
	for i := range g.Masters {
		all = append(all, i)
	}
	type answer struct {
		report *report
		err    error
	}
	ended := each(ctx, g, all, func(_ context.Context, i int) (answer, error) {
		r, err := g.report(g.Masters[i], rights...)
		return answer{r, err}, nil
	}, func(i int, a answer) (enough bool) {
		reports[i], failures[i] = a.report, a.err
		return false
	})
	var err error
	for i, r := range reports {
		if r == nil {
			failure := cmp.Or(failures[i], ended, context.Canceled) // context.Canceled: the group was stopped
			err = printable.Join(err, fmt.Errorf("%s: %w", g.Masters[i].Name, printable.Error(failure)))
		}
	}
	return reports, err
}

// foundable returns why the masters cannot form a deployment, or nil.
func (g *Group) foundable(reports []*report, force bool) error {
	members, seen := false, map[string]string{}
	return g.atAll(func(i int) error {
		switch r := reports[i]; {
		case force:
		case r.bad != nil:
			return refused("%v", r.bad)
		case r.blank(), r.claim != "" && r.claim == g.claimed():
		case r.claim != "":
			return refused("an init of other masters includes it, and was not finished: %s. Finish that one, or take the master from it with force",
				strings.ReplaceAll(r.claim, "\n", ", "))
		case r.table == nil:
			return refused("it belongs to deployment %s, but is no member of it: empty it to use it elsewhere; or take it with force, if that deployment lost its data", r.deployment)
		case !slices.Equal(g.names(), sortedCopy(r.table.each(func(m Member) string { return m.Address }))):
			return refused("it is a member of deployment %s, whose members are %s: give these, or change the members", r.deployment, r.table.addresses())
		default:
			members = true
		}
		return nil
	}, func(i int) error {
		if members && reports[i].blank() {
			return refused("it belongs to no deployment, others are founded: it comes back by itself if they are a majority")
		}
		return nil
	}, func(i int) error {
		if other, twice := seen[reports[i].run]; twice {
			return refused("%s", sameServer(other))
		}
		seen[reports[i].run] = g.Masters[i].Name
		return nil
	})
}

func sortedCopy(s []string) []string { return slices.Sorted(slices.Values(s)) }

// raiseMembers raises all counters of all members to floor at least. If another client changes the
// members meanwhile, raiseMembers asks for reports once more, and continues.
func (g *Group) raiseMembers(ctx context.Context, floor int64) error {
	floors, raised := slices.Repeat([]int64{floor}, script.Buckets), map[string]bool{}
	for repeat := true; repeat; {
		reports, err := g.inspect(ctx)
		if err != nil {
			return err
		}
		repeat = false
		err = g.atAll(func(i int) error {
			r := reports[i]
			if r.table == nil || raised[r.id] {
				return nil
			}
			err := g.raise(ctx, i, r.id, r.version, true, floors)
			if master.HasPrefix(err, "NOTMEMBER") && r.intact() {
				repeat = true
				return nil
			}
			raised[r.id] = err == nil
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// InitPlan is the state of the masters, and the effect that Init would have.
type InitPlan struct {
	Masters []MasterState
	Does    string        // "found", "finish" or "raise"; "" if some master does not answer
	MaxTTL  time.Duration // of the deployment after Init; 0 if some master does not answer

	Refused, ForceRefused error // why Init would refuse the masters, without force and with force
}

// PlanInit describes all masters, and what Init would do. It changes nothing.
func (g *Group) PlanInit(ctx context.Context) (p InitPlan) {
	w := g.observe(ctx, true)
	var reports []*report
	founded, maxTTL := 0, g.MaxTTL
	for _, m := range w.masters {
		state := m.state()
		if state.Err != nil {
			p.Refused = printable.Join(p.Refused, fmt.Errorf("%s: %w", m.name, state.Err))
		} else if m.report.table != nil {
			founded, maxTTL = founded+1, m.report.table.MaxLease()
		}
		p.Masters, reports = append(p.Masters, state), append(reports, m.report)
	}
	if p.Refused != nil {
		p.ForceRefused = p.Refused
		return p
	}
	p.MaxTTL = maxTTL.Truncate(time.Millisecond)
	switch founded {
	case 0:
		p.Does = "found"
	case len(reports):
		p.Does = "raise"
	default:
		p.Does = "finish"
	}
	p.Refused, p.ForceRefused = g.foundable(reports, false), g.foundable(reports, true)
	return p
}

// FoundingFloor returns the initial value of counters: the Unix time in ms. This value is far above 1, so
// a counter at 1 shows that the counter was lost and that an INCR made it anew. The value is also above
// every token of a lost deployment that made fewer than 1 000 tokens a second.
func FoundingFloor() int64 { return time.Now().UnixMilli() }
