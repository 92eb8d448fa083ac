package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// This file has the requests to servers. A change of the table is CASPaxos (Rystsov, 2018) with one
// change at a time; see R2 in docs/PROTOCOL.md. A server becomes a voting member in three steps (R3
// and R5). First the server gets an id. After the commit of a version that lists it as new, it gets the
// counters of a quorum. When all earlier grants are over, it votes.

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

// errMoved is returned when another client has changed the table meanwhile.
var errMoved = errors.New("another change of the members came first")

// errNotCommitted is returned when too few members answered. The change may have been made all the same.
var errNotCommitted = errors.New("too few members answered")

// do takes the step s, which was chosen in the world w. After a step failed at one master, no further
// step is taken there for a while. For example, a master out of memory must not delay
// steps at other masters.
func (g *Group) do(w world, s step) error {
	at := func(i int, err error) error {
		if err != nil {
			g.mu.Lock()
			g.masters[i].unable = g.Now().Add(lookAgain)
			g.mu.Unlock()
		}
		return err
	}
	ctx := g.ctx
	switch s := s.(type) {
	case adopt:
		r := w.masters[s.master].report
		return at(s.master, g.evalAndReport(ctx, s.master, adoptScript, r.run, r.id, r.version))
	case note:
		weak := map[bool]string{true: "yes", false: "no"}
		return at(s.master, g.evalAndReport(ctx, s.master, weakScript, w.masters[s.master].report.id, weak[s.weak]))
	case enroll:
		return at(s.master, g.enroll(ctx, w, s.master))
	case syncCounters:
		return at(s.master, g.syncNew(ctx, w, s.master))
	case remove:
		return g.remove(ctx, w, s.id)
	case propose:
		return g.change(ctx, w, s.table)
	}
	return g.change(ctx, w, nil)
}

// evalAndReport runs a script that changes what the server reports, and asks for a report.
func (g *Group) evalAndReport(ctx context.Context, i int, s master.Script, args ...any) error {
	if err := g.Masters[i].Eval(ctx, s, []string{g.key}, args...); err != nil {
		return err
	}
	return g.reload(i)
}

func (g *Group) reload(i int) error {
	r, err := g.report(g.Masters[i])
	if err == nil {
		g.note(i, r)
	}
	return err
}

// enroll gives a new member id to a master's server. It first asks for a report, because the report that
// led to this step may be out of date. If the server has a new id already, or an id that the view lists,
// the server keeps this id.
func (g *Group) enroll(ctx context.Context, w world, i int) error {
	r, err := g.report(g.Masters[i])
	if err != nil {
		return err
	}
	if listed := r.intact() && w.view.Table.find(r.id) != nil; listed || r.isNew() {
		g.note(i, r)
		if listed {
			return errMoved
		}
		return nil
	}
	return g.evalAndReport(ctx, i, enrollScript, r.run, r.id, w.view.Deployment, uuid.NewString(), w.view.Version)
}

// turnFor is the length of a client's turn to change the members.
const turnFor = 2 * time.Second

// turn asks the members, in the order of their ids, for a turn of this client, until a member answers. It
// returns 0 if this client has the turn now, or if no member answers. Otherwise it returns the rest of
// another client's turn. If force is true, it takes the turn from the other client. Turns only save
// work: the ballots keep the register safe.
func (g *Group) turn(w world, force bool) (left time.Duration) {
	members := w.distinct(func(r *report) bool {
		return w.view == nil || r.deployment == w.view.Deployment && (w.view.Table.stateOf(r.id) == Voting || w.view.Table.stateOf(r.id) == Suspended)
	})
	slices.SortFunc(members, func(a, b int) int {
		return strings.Compare(w.masters[a].report.id, w.masters[b].report.id)
	})
	how := map[bool]string{true: "force"}
	for n, i := range members {
		timeout := g.Timeout
		if n == 0 {
			timeout = min(timeout, lookTimeout) // the member may hang
		}
		ctx, cancel := context.WithTimeout(g.ctx, timeout)
		ms, err := g.Masters[i].EvalInt(ctx, turnScript, []string{g.key}, w.masters[i].report.id, g.me, turnFor.Milliseconds(), how[force])
		cancel()
		if err == nil {
			return time.Duration(ms) * time.Millisecond
		}
	}
	return 0
}

// change replaces the view's table by the given table. If the given table is nil, change only finishes a
// version that is not known to be committed. If the members have another version than the view's, change
// returns errMoved instead of proposing the given table. But first it proposes the other version once
// more, if this version is not known to be committed.
func (g *Group) change(ctx context.Context, w world, table *Table) error {
	b := ballot{promised: map[string]bool{}}
	if w.view != nil {
		b.deployment, b.base, b.table, b.committed = w.view.Deployment, w.view.Version, w.view.Table, true
	}
	versions := []string{w.highest, b.base}
	targets := w.where(func(r *report) bool {
		return !r.weakened() && (w.view == nil || r.deployment == w.view.Deployment)
	})
	for _, i := range targets {
		versions = append(versions, w.masters[i].report.promised)
	}
	number := versionAfter(versions...)
	fault := each(ctx, g, targets, func(ctx context.Context, i int) ([]string, error) {
		return g.Masters[i].EvalTexts(ctx, promiseScript, []string{g.key}, w.masters[i].report.id, number)
	}, func(i int, reply []string) (enough bool) {
		if r := *w.masters[i].report; len(reply) == 3 && r.accepts(reply[0], reply[1], reply[2] != "") == nil {
			b.take(&r, g.accepted(i, r.id, r.asked, r.promised, r.acceptedTable))
		}
		return b.mayPropose()
	})
	switch {
	case !b.mayPropose():
		return printable.Join(errNotCommitted, fault)
	case !b.committed:
		err := g.accept(ctx, w, number, b.deployment, b.table)
		if err == nil && table != nil {
			err = errMoved
		}
		return err
	case table == nil:
		return nil
	case b.base != w.view.Version:
		return errMoved
	}
	return g.accept(ctx, w, number, b.deployment, table)
}

// ballot is a proposer's state after the promises that it got.
type ballot struct {
	promised   map[string]bool // the ids of the members that promised
	base       string          // the highest version that was found
	table      *Table          // the table of that version
	deployment string          // the deployment of that version
	committed  bool            // that version is known to be committed
}

// take adds a promise.
func (b *ballot) take(r *report, committed bool) {
	b.promised[r.id] = true
	if r.version > b.base {
		b.deployment, b.base, b.table, b.committed = r.deployment, r.version, r.table, committed
	} else if r.version == b.base {
		b.committed = b.committed || committed
	}
}

// mayPropose reports whether the promises are enough: no version between base and the new ballot was
// committed, and of all versions below the new ballot only base can still be committed. For this, a
// majority of the members of base must have promised. Unless base is known to be committed, a majority of
// the previous version's members must have promised, too.
func (b *ballot) mayPropose() bool {
	return b.table != nil && majority(b.table.ids(), b.promised) && (b.committed || majority(b.table.Prev, b.promised))
}

// accepts stores, in the report, the version and the table that the server has accepted.
func (r *report) accepts(version, table string, learned bool) (err error) {
	if version != "" {
		if r.table, err = parseTable(table); err != nil {
			return err
		}
	}
	r.version, r.learned, r.known = version, learned, 0
	return nil
}

// accept asks the members of a table and of the previous table to accept the table. It returns nil as
// soon as the table is committed.
func (g *Group) accept(ctx context.Context, w world, number, deployment string, table *Table) error {
	text, committed := table.text(), false
	fault := each(ctx, g, w.where(func(r *report) bool {
		return !r.weakened() && r.deployment == deployment && table.concerns(r.id)
	}), func(ctx context.Context, i int) (int64, error) {
		return g.Masters[i].EvalInt(ctx, acceptScript, []string{g.key}, w.masters[i].report.id, number, text, deployment)
	}, func(i int, _ int64) (enough bool) {
		r := w.masters[i].report
		committed = g.accepted(i, r.id, r.asked, number, acceptedTable{number, table, false, r.known})
		return committed
	})
	if committed {
		return nil
	}
	return printable.Join(errNotCommitted, fault)
}

// syncNew reads the counters of a quorum at the view's version, and raises the counters of a new member
// to the highest values.
func (g *Group) syncNew(ctx context.Context, w world, i int) error {
	floors, err := g.readCounters(ctx, w)
	if err != nil {
		return err
	}
	if err := g.raise(ctx, i, w.masters[i].report.id, w.view.Version, false, floors); err != nil {
		return err
	}
	return g.reload(i)
}

// remove removes a member from the view's table. This makes quorums smaller. So remove first reads the
// counters of a quorum at the view's version, and takes the highest value of each counter. It raises the
// counters of a quorum of the remaining members to these values.
func (g *Group) remove(ctx context.Context, w world, id string) error {
	floors, err := g.readCounters(ctx, w)
	if err != nil {
		return err
	}
	next := w.view.Table.without(id)
	raised := 0
	fault := each(ctx, g, w.staying(next), func(ctx context.Context, i int) (struct{}, error) {
		return struct{}{}, g.raise(ctx, i, w.masters[i].report.id, w.view.Version, true, floors)
	}, func(int, struct{}) (enough bool) {
		raised++
		return raised >= next.Quorum()
	})
	if raised < next.Quorum() {
		return printable.Join(fmt.Errorf("the counters of %d members can be raised, and %d are needed", raised, next.Quorum()), fault)
	}
	return g.change(ctx, w, next)
}

// readCounters reads the counters of a quorum of members at the view's version, and returns the
// highest value of each counter.
func (g *Group) readCounters(ctx context.Context, w world) ([]int64, error) {
	floors, read, need := make([]int64, script.Buckets), 0, w.view.Table.Quorum()
	fault := each(ctx, g, w.sources(), func(ctx context.Context, i int) ([]int64, error) {
		return g.counters(ctx, i, w.masters[i].report.id, w.view.Version, 1)
	}, func(_ int, counters []int64) (enough bool) {
		raiseTo(floors, counters)
		read++
		return read >= need
	})
	if read < need {
		return nil, printable.Join(fmt.Errorf("the counters of %d members can be read, and %d are needed", read, need), fault)
	}
	return floors, nil
}

// raiseTo raises each floor to the counter of the same bucket, if this counter is higher.
func raiseTo(floors, counters []int64) {
	for b, counter := range counters {
		floors[b] = max(floors[b], counter)
	}
}

// counters reads the counters of a server at a version. It returns an error if a counter is below least.
// The version is "" while Init founds the deployment: then a missing counter is read as 0.
func (g *Group) counters(ctx context.Context, i int, id, version string, least int64) ([]int64, error) {
	reply, err := g.Masters[i].EvalTexts(ctx, countersScript, g.keys(), id, version)
	if err != nil {
		return nil, err
	}
	return parseCounters(reply, least)
}

// parseCounters parses the reply of counters.lua. It returns an error if a counter is below least.
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

// raise raises the counters of a server to floors at least. If own is true, the server itself must have
// accepted the version. If own is false, the floors were read from other members at this version, and the
// server records that it has their counters.
func (g *Group) raise(ctx context.Context, i int, id, version string, own bool, floors []int64) error {
	args := append(make([]any, 0, 3+len(floors)), id, version, "")
	if own {
		args[2] = "1"
	}
	for _, f := range floors {
		args = append(args, f)
	}
	return g.Masters[i].Eval(ctx, syncScript, g.keys(), args...)
}

// keys returns the keys of the register and of all counters.
func (g *Group) keys() []string {
	keys := append(make([]string, 0, 1+script.Buckets), g.key)
	for b := range script.Buckets {
		keys = append(keys, script.FenceKey(g.Prefix, b))
	}
	return keys
}

// each asks the masters at the same time, and calls take() with one reply after the other. It returns when
// take() returns true, when all masters have replied, or when ctx ends. Requests that are still under way
// go on. The result is the last error.
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
				fault = fmt.Errorf("%s: %w", g.masters[a.master].name, a.err)
			} else if take(a.master, a.reply) {
				return fault
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return fault
}
