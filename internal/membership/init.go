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

// Init founds a deployment of the group's masters, or finishes to: spec/register has the model.
// Every counter goes to the highest of all masters', and to floor at least. Of a deployment that is
// founded it raises the counters to floor. With force it takes the masters from whatever they
// belong to. The error is a *RefusedError if they cannot be founded.
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
	c := claim{deployment: uuid.NewString(), ballot: versionAfter(ballots...), force: force, ids: make([]string, len(reports))}
	for i, r := range reports {
		if c.ids[i], err = g.claimOne(ctx, i, r, c); err != nil {
			return err
		}
	}
	if err := g.raiseAll(ctx, c.ids, floor); err != nil {
		return err
	}
	// Only what all masters say after the last of them was claimed shows that no other init can
	// have gone on: one may have lost its claim with its data meanwhile.
	if reports, err = g.inspect(ctx); err != nil {
		return err
	}
	table := &Table{Format: format, Buckets: script.Buckets, MaxTTL: g.MaxTTL.Milliseconds(), Drift: g.Drift, Prev: c.ids}
	for i, r := range reports {
		if !r.intact() || r.deployment != c.deployment || r.id != c.ids[i] || r.claimed != c.ballot || r.claim == "" {
			return refused("%s: another init is under way, or it lost its data meanwhile: run it again", g.Masters[i].Name)
		}
		table.Members = append(table.Members, Member{ID: c.ids[i], State: Voting, Address: g.Masters[i].Name, Durable: r.durable == durable})
	}
	for i, id := range c.ids {
		if err := g.found(ctx, i, c.deployment, id, c.ballot, table, ""); err != nil {
			return err
		}
	}
	g.observe(ctx, false)
	return nil
}

// claim is that of one init.
type claim struct {
	deployment string
	ballot     string
	force      bool
	ids        []string // by master: its member id
}

// finishInit brings the table that one master has accepted to those that have accepted none.
func (g *Group) finishInit(ctx context.Context, reports []*report, accepted *report) error {
	for i, r := range reports {
		switch {
		case r.claim == "":
		case accepted.table.find(r.id) == nil || !r.intact():
			return refused("%s: another init has claimed it by force, or it lost its data: run init with force", g.Masters[i].Name)
		default:
			if err := g.found(ctx, i, accepted.deployment, r.id, accepted.version, accepted.table, "finish"); err != nil {
				return err
			}
		}
	}
	g.observe(ctx, false)
	return nil
}

func (g *Group) found(ctx context.Context, i int, deployment, id, ballot string, table *Table, how string) error {
	err := g.Masters[i].Eval(ctx, foundScript, []string{g.key}, deployment, id, ballot, table.text(), how)
	if master.HasPrefix(err, "CLAIMED") {
		return refused("%s: another init or change was faster: run it again", g.Masters[i].Name)
	} else if err != nil {
		return fmt.Errorf("%s: %w", g.Masters[i].Name, err)
	}
	return nil
}

// claimed is what a master says of an init of these masters.
func (g *Group) claimed() string { return strings.Join(g.names(), "\n") }

// names are those of all masters, in order.
func (g *Group) names() []string {
	var all []string
	for _, m := range g.Masters {
		all = append(all, m.Name)
	}
	return sorted(all)
}

// inspect asks all masters for reports; all must give one. With g.allRights it is as for report.
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
			failure := cmp.Or(failures[i], ended, context.Canceled) // the last one: the group was closed
			err = printable.Join(err, fmt.Errorf("%s: %w", g.Masters[i].Name, printable.Error(failure)))
		}
	}
	return reports, err
}

// foundable returns why the masters cannot be founded together, or nil.
func (g *Group) foundable(reports []*report, force bool) error {
	if force {
		return g.distinct(reports)
	}
	members := 0
	for i, r := range reports {
		switch {
		case r.bad != nil:
			return refused("%s: %v", g.Masters[i].Name, r.bad)
		case r.blank():
		case r.claim != "" && r.claim != g.claimed():
			return refused("%s: an init of other masters includes it, and was not finished: %s. Finish that one, or take the master from it with force",
				g.Masters[i].Name, strings.ReplaceAll(r.claim, "\n", ", "))
		case r.claim != "":
		case r.table == nil:
			return refused("%s belongs to deployment %s, but is no member of it: empty it to use it elsewhere; or take it with force, if that deployment lost its data", g.Masters[i].Name, r.deployment)
		case !slices.Equal(g.names(), sorted(addressesOf(r.table))):
			return refused("%s is a member of deployment %s, whose members are %s: give these, or change the members", g.Masters[i].Name, r.deployment, r.table.addresses())
		default:
			members++
		}
	}
	for i, r := range reports {
		if members > 0 && r.blank() {
			return refused("%s belongs to no deployment, others are founded: it comes back by itself if they are a majority", g.Masters[i].Name)
		}
	}
	return g.distinct(reports)
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// distinct refuses masters of which two are one server process.
func (g *Group) distinct(reports []*report) error {
	seen := map[string]int{}
	for i, r := range reports {
		if j, twice := seen[r.run]; twice {
			return refused("%s is the same server as %s: give every server once", g.Masters[i].Name, g.Masters[j].Name)
		}
		seen[r.run] = i
	}
	return nil
}

// claimOne claims a master, and returns its member id.
func (g *Group) claimOne(ctx context.Context, i int, r *report, c claim) (string, error) {
	how := ""
	if c.force {
		how = "force"
	}
	id, err := g.Masters[i].EvalText(ctx, claimScript, []string{g.key}, r.run, c.deployment, uuid.NewString(), g.claimed(), c.ballot, how)
	switch {
	case master.HasPrefix(err, "CLAIMED"), master.HasPrefix(err, "BELONGS"):
		return "", refused("%s: another init was faster: run it again", g.Masters[i].Name)
	case err != nil:
		return "", fmt.Errorf("%s: %w", g.Masters[i].Name, err)
	}
	return id, nil
}

// raiseAll raises all counters of all masters to the highest of them, and to floor.
func (g *Group) raiseAll(ctx context.Context, ids []string, floor int64) error {
	floors := slices.Repeat([]int64{floor}, script.Buckets)
	for i := range g.Masters {
		present, err := g.counters(ctx, i, ids[i], "", 0)
		if err != nil {
			return fmt.Errorf("%s: %w", g.Masters[i].Name, err)
		}
		raiseTo(floors, present)
	}
	for i := range g.Masters {
		if err := g.raise(ctx, i, ids[i], "", false, floors); err != nil {
			return fmt.Errorf("%s: %w", g.Masters[i].Name, err)
		}
	}
	return nil
}

// raiseMembers raises all counters of all members to floor at least. Members that are at another
// version than they reported are asked again: others change the members meanwhile.
func (g *Group) raiseMembers(ctx context.Context, floor int64) error {
	floors, raised := slices.Repeat([]int64{floor}, script.Buckets), map[string]bool{}
	for again := true; again; {
		reports, err := g.inspect(ctx)
		if err != nil {
			return err
		}
		again = false
		for i, r := range reports {
			if r.table == nil || raised[r.id] {
				continue
			}
			err := g.raise(ctx, i, r.id, r.version, true, floors)
			if err != nil && !(master.HasPrefix(err, "NOTMEMBER") && r.intact()) {
				return fmt.Errorf("%s: %w", g.Masters[i].Name, err)
			}
			raised[r.id], again = err == nil, again || err != nil
		}
	}
	return nil
}

// Inspect tells of all masters, and changes nothing. does is what Init would do, and refused why it
// would not be done, without force.
func (g *Group) Inspect(ctx context.Context) (states []MasterState, does string, refused error) {
	w := g.observe(ctx, true)
	var reports []*report
	for _, m := range w.masters {
		state := MasterState{Master: m.name}
		switch {
		case m.report != nil:
			state.State = m.report.state()
		case m.fault != nil:
			state.Err = printable.Error(m.fault)
		default:
			state.Err = errors.New("no answer")
		}
		if state.Err != nil {
			refused = printable.Join(refused, fmt.Errorf("%s: %w", m.name, state.Err))
		}
		states, reports = append(states, state), append(reports, m.report)
	}
	if refused != nil {
		return states, "", refused
	}
	does = "found"
	switch founded := func(r *report) bool { return r.table != nil }; {
	case !slices.ContainsFunc(reports, founded):
	case slices.ContainsFunc(reports, func(r *report) bool { return !founded(r) }):
		does = "finish"
	default:
		does = "raise"
	}
	return states, does, g.foundable(reports, false)
}

// MasterState is what is known of a master before Init.
type MasterState struct {
	Master string // its address
	State  string // in words
	Err    error  // why nothing is known
}

// FoundingFloor is what counters start at: far above 1, so that one that counts from the beginning
// again is seen, and above every token of a deployment that was lost, if it gave less than 1 000 a
// second.
func FoundingFloor() int64 { return time.Now().UnixMilli() }
