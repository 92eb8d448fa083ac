package membership

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// A change of the table is CASPaxos (Rystsov, 2018) with one change at a time; see R2 in
// docs/PROTOCOL.md.

var (
	enrollScript   = master.NewScript(script.EnrollSource)
	adoptScript    = master.NewScript(script.AdoptSource)
	weakScript     = master.NewScript(script.WeakSource)
	promiseScript  = master.NewScript(script.PromiseSource)
	acceptScript   = master.NewScript(script.AcceptSource)
	learnScript    = master.NewScript(script.LearnSource)
	reachedScript  = master.NewScript(script.ReachedSource)
	countersScript = master.NewScript(script.CountersSource)
	turnScript     = master.NewScript(script.TurnSource)
	syncScript     = master.NewScript(script.SyncSource)
	claimScript    = master.NewScript(script.ClaimSource)
	foundScript    = master.NewScript(script.FoundSource)
)

// errMoved means that the table is not the one any more that was to be changed.
var errMoved = errors.New("another change of the members came first")

// errNotCommitted means that too few members answered: the change may come to pass or not.
var errNotCommitted = errors.New("too few members answered")

// change makes table follow the view's, or, without a view, finishes the version that is not known
// to be committed. When another version than the view's is found the change is not made: one that
// is not committed is proposed again as it is, and errMoved tells.
func (g *Group) change(ctx context.Context, v *View, table *Table) error {
	s := g.situation()
	b := ballot{promised: map[string]bool{}}
	versions := []string{s.highest}
	if s.view != nil {
		b.deployment, b.base, b.table, b.committed = s.view.Deployment, s.view.Version, s.view.Table, true
		versions = append(versions, b.base)
	}
	var targets []int
	for i, r := range s.reports {
		if r != nil && r.intact() && !r.weakened() && (s.view == nil || r.deployment == s.view.Deployment) {
			targets = append(targets, i)
			versions = append(versions, r.promised)
		}
	}
	number := versionAfter(versions...)
	fault := each(ctx, g, targets, func(ctx context.Context, i int) ([]string, error) {
		return g.Masters[i].EvalTexts(ctx, promiseScript, []string{g.key}, s.reports[i].id, number)
	}, func(i int, reply []string) (enough bool) {
		if r, ok := g.promisedBy(i, s.reports[i], reply); ok {
			b.take(r, g.isCommitted(r.version))
		}
		return b.mayPropose()
	})
	switch {
	case !b.mayPropose():
		return printable.Join(errNotCommitted, fault)
	case !b.committed:
		if err := g.accept(ctx, number, b.deployment, b.table, s.reports); err != nil {
			return err
		}
		return errMoved
	case v == nil:
		return nil
	case b.base != v.Version:
		return errMoved
	}
	return g.accept(ctx, number, b.deployment, table, s.reports)
}

// ballot is what a proposer knows from the promises that it got.
type ballot struct {
	promised   map[string]bool // ids of members
	base       string          // the highest version that was found
	table      *Table          // its table
	deployment string          // of which it is
	committed  bool
}

// take takes a promise.
func (b *ballot) take(r *report, committed bool) {
	b.promised[r.id] = true
	if r.version > b.base {
		b.deployment, b.base, b.table, b.committed = r.deployment, r.version, r.table, committed
	} else if r.version == b.base {
		b.committed = b.committed || committed
	}
}

// mayPropose reports that no other version can be committed behind the proposer's back: a majority
// of the highest table that was found promised, and a majority of the table before it, unless it is
// known to be committed.
func (b *ballot) mayPropose() bool {
	return b.table != nil && majority(b.table.ids(), b.promised) && (b.committed || majority(b.table.Prev, b.promised))
}

// promisedBy reads the reply to a promise.
func (g *Group) promisedBy(i int, r *report, reply []string) (*report, bool) {
	if len(reply) != 3 {
		return nil, false
	}
	told := *r
	if told.version, told.learned = reply[0], reply[2] != ""; told.version != "" {
		t, err := parseTable(reply[1])
		if err != nil {
			return nil, false
		}
		told.table = t
	}
	g.note(i, &told)
	return &told, true
}

func (g *Group) isCommitted(version string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known.committed[version]
}

// accept has the servers that it concerns accept a table of a deployment, until it is committed.
func (g *Group) accept(ctx context.Context, number, deployment string, table *Table, reports []*report) error {
	var targets []int
	for i, r := range reports {
		if r != nil && r.intact() && !r.weakened() && r.deployment == deployment && table.concerns(r.id) {
			targets = append(targets, i)
		}
	}
	text := table.text()
	fault := each(ctx, g, targets, func(ctx context.Context, i int) (int64, error) {
		return g.Masters[i].EvalInt(ctx, acceptScript, []string{g.key}, reports[i].id, number, text, deployment)
	}, func(i int, _ int64) (enough bool) {
		told := *reports[i]
		told.promised, told.version, told.table, told.learned = number, number, table, false
		g.note(i, &told)
		return g.isCommitted(number)
	})
	if g.isCommitted(number) {
		return nil
	}
	return printable.Join(errNotCommitted, fault)
}

// each asks masters at the same time, and takes their replies one after the other, until that is
// enough, all have replied, or ctx ends. Who was asked is left to finish. It returns the last
// error.
func each[T any](ctx context.Context, g *Group, masters []int, ask func(ctx context.Context, i int) (T, error), take func(i int, reply T) (enough bool)) (fault error) {
	type answer struct {
		master int
		reply  T
		err    error
	}
	answers := make(chan answer, len(masters))
	asked := 0
	for _, i := range masters {
		if g.task(func() {
			reply, err := ask(g.ctx, i)
			answers <- answer{i, reply, err}
		}) {
			asked++
		}
	}
	for range asked {
		select {
		case a := <-answers:
			if a.err != nil {
				fault = fmt.Errorf("%s: %w", g.names[a.master], a.err)
			} else if take(a.master, a.reply) {
				return fault
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fault
}
