package membership

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// A server becomes a member in three steps: it gets an id; it gets the counters of a quorum, read
// after a version that lists it as new is committed; and it votes when everything is over that was
// granted before (R3 and R5 in docs/PROTOCOL.md).

// enroll gives the server of a master, which the view does not list, a new member id, unless it has
// one. A server that the view lists by now keeps its id: the report that led here is out of date.
func (g *Group) enroll(ctx context.Context, i int, v *View) error {
	r, err := g.report(g.Masters[i])
	if err != nil {
		return err
	}
	if r.intact() && v.Table.find(r.id) != nil {
		g.note(i, r)
		return errMoved
	}
	if !r.isNew() {
		err = g.Masters[i].Eval(ctx, enrollScript, []string{g.key}, r.run, r.id, v.Deployment, uuid.NewString(), v.Version)
		if err != nil {
			return err
		}
		if r, err = g.report(g.Masters[i]); err != nil {
			return err
		}
	}
	g.note(i, r)
	return nil
}

// adopt lets the server of a master, which restarted, keep its id, unless it has changed since its
// last report.
func (g *Group) adopt(ctx context.Context, i int) error {
	was := g.situation().reports[i]
	if was == nil {
		return errMoved
	}
	if err := g.Masters[i].Eval(ctx, adoptScript, []string{g.key}, was.run, was.id, was.version); err != nil {
		return err
	}
	return g.reportAgain(i)
}

// noteWeak has a durable member vote no more, or again, as its settings are.
func (g *Group) noteWeak(ctx context.Context, i int, weak bool) error {
	was, word := g.situation().reports[i], "no"
	if weak {
		word = "yes"
	}
	if was == nil {
		return errMoved
	}
	if err := g.Masters[i].Eval(ctx, weakScript, []string{g.key}, was.id, word); err != nil {
		return err
	}
	return g.reportAgain(i)
}

// reportAgain asks a master for a report, after a step that changed something there.
func (g *Group) reportAgain(i int) error {
	r, err := g.report(g.Masters[i])
	if err == nil {
		g.note(i, r)
	}
	return err
}

// syncNew raises the counters of a new member to the highest of a quorum at the view's version,
// which lists it.
func (g *Group) syncNew(ctx context.Context, i int, v *View) error {
	s := g.situation()
	if s.reports[i] == nil {
		return errMoved
	}
	floors, err := g.readCounters(ctx, s, v)
	if err != nil {
		return err
	}
	if err := g.raise(ctx, i, s.reports[i].id, v.Version, false, floors); err != nil {
		return err
	}
	told := *s.reports[i]
	told.synced = v.Version
	g.note(i, &told)
	return nil
}

// readCounters reads the counters of a quorum of members at the view's version, and returns the
// highest of each.
func (g *Group) readCounters(ctx context.Context, s situation, v *View) ([]int64, error) {
	floors, read := make([]int64, script.Buckets), 0
	fault := each(ctx, g, s.sources(v), func(ctx context.Context, i int) ([]int64, error) {
		reply, err := g.Masters[i].EvalTexts(ctx, countersScript, g.keys(), s.reports[i].id, v.Version)
		if err != nil {
			return nil, err
		}
		return parseCounters(reply, 1)
	}, func(_ int, counters []int64) (enough bool) {
		raiseTo(floors, counters)
		read++
		return read >= v.Table.Quorum()
	})
	if read < v.Table.Quorum() {
		return nil, printable.Join(fmt.Errorf("the counters of %d members can be read, and %d are needed", read, v.Table.Quorum()), fault)
	}
	return floors, nil
}

// raiseTo makes each floor the counter of its bucket, if that is higher.
func raiseTo(floors, counters []int64) {
	for b, counter := range counters {
		floors[b] = max(floors[b], counter)
	}
}

// present reads the counters of a server that is being founded; 0 for what is missing.
func (g *Group) present(ctx context.Context, i int, id string) ([]int64, error) {
	reply, err := g.Masters[i].EvalTexts(ctx, countersScript, g.keys(), id, "")
	if err != nil {
		return nil, err
	}
	return parseCounters(reply, 0)
}

// parseCounters reads the reply of counters.lua, in which none is below least.
func parseCounters(reply []string, least int64) ([]int64, error) {
	if len(reply) != script.Buckets {
		return nil, fmt.Errorf("%d counters instead of %d", len(reply), script.Buckets)
	}
	counters := make([]int64, len(reply))
	for b, text := range reply {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || n > script.MaxCounter {
			return nil, fmt.Errorf("counter %d is %.40q, which is no number from %d to %d", b, text, least, int64(script.MaxCounter))
		}
		counters[b] = n
	}
	return counters, nil
}

// raise raises the counters of a server to floors at least. If they are its own, it must be a
// member at that version; else it notes that these are the counters of the others, as they were
// read at that version.
func (g *Group) raise(ctx context.Context, i int, id, version string, own bool, floors []int64) error {
	args := make([]any, 0, 3+len(floors))
	args = append(args, id, version, "")
	if own {
		args[2] = "1"
	}
	for _, f := range floors {
		args = append(args, f)
	}
	return g.Masters[i].Eval(ctx, syncScript, g.keys(), args...)
}

// keys are those of the register and all counters.
func (g *Group) keys() []string {
	keys := make([]string, 1, 1+script.Buckets)
	keys[0] = g.key
	for b := range script.Buckets {
		keys = append(keys, script.FenceKey(g.Prefix, b))
	}
	return keys
}

// promote lets all new members vote that have their counters, if the quarantine of the view is
// over; else it returns how much of it is left. A change of the members begins a quarantine, so all
// that can get their counters get them before: else each would wait for the others. One that cannot
// keeps nobody waiting. turn, if not nil, is asked when all is ready: how long it is another's turn.
func (g *Group) promote(ctx context.Context, v *View, turn func() time.Duration) (left time.Duration, err error) {
	s := g.situation()
	if s.view != nil && s.view.Version == v.Version {
		lacking, _ := s.newMembers()
		for _, i := range lacking {
			_ = g.do(ctx, syncCounters{i, v})
		}
		s = g.situation()
	}
	next, any := s.withNew(v.Table)
	if !any {
		return 0, errMoved
	}
	if left, err = g.quarantine(ctx, s, v); err != nil || left > 0 {
		return left, err
	}
	if turn != nil {
		if left = turn(); left > 0 {
			return min(left, lookAgain/2), nil
		}
	}
	return 0, g.change(ctx, v, next)
}

// withNew returns the table that follows t, in which the new members vote that have their counters,
// and whether there are any.
func (s situation) withNew(t *Table) (next *Table, any bool) {
	next = t.next()
	for _, r := range s.reports {
		if r != nil && r.intact() && r.synced != "" && next.stateOf(r.id) == New {
			next.find(r.id).State = Voting
			any = true
		}
	}
	return next, any
}

// quarantine returns how much is left of the quarantine of the view: it lasts until a quorum of
// members, by their own clocks, have known for long enough that the version is committed.
func (g *Group) quarantine(ctx context.Context, s situation, v *View) (left time.Duration, err error) {
	var known []time.Duration
	fault := each(ctx, g, s.members(v), func(_ context.Context, i int) (time.Duration, error) {
		return g.tellLearned(i, s.reports[i].id, v)
	}, func(_ int, since time.Duration) (enough bool) {
		known = append(known, since)
		return false
	})
	since, is := knownFor(known, v.Table.Quorum())
	if !is {
		return 0, printable.Join(errMoved, fault)
	}
	return v.Table.Quarantine() - since, nil
}

// knownFor returns for how long a quorum of members have known that a version is committed, by what
// each told: below 0, it is ahead. Fewer than a quorum may have known for longer, because a clock
// was set right.
func knownFor(told []time.Duration, quorum int) (since time.Duration, is bool) {
	behind := func(since time.Duration) bool { return since < 0 }
	known := slices.DeleteFunc(slices.Sorted(slices.Values(told)), behind)
	if len(known) < quorum {
		return 0, false
	}
	return known[len(known)-quorum], true
}
