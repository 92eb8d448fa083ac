package membership

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// Timeout is the longest time for a request that reads or raises all counters of a master.
const Timeout = 5 * time.Second

// Config configures a group. Learned and Out are called from the same goroutine.
type Config struct {
	Prefix  string        // of all keys
	Timeout time.Duration // for one server to report, or to take its part in a change
	MaxTTL  time.Duration // of a deployment that Init founds
	Drift   float64       // of a deployment that Init founds
	Now     func() clock.Instant
	Learned func(before, now *View) // is called with each new view; before is nil for the first view
	Out     func(Outage)            // is called once for each outage that has lasted long (see outageAfter)
}

// Group has the masters of a client. It learns from them which members may vote, and brings back
// members that lost their data. It implements master.Gate for the masters.
type Group struct {
	Config
	Masters []*master.Master // set before any master is started
	key     string           // of the register
	me      string           // this client's id, for turns

	view  atomic.Pointer[View]
	woken chan struct{} // holds a value when the loop has to decide

	mu      sync.Mutex // never held while a request is under way
	masters []observed
	known   evidence
	bound   map[string]binding
	changed chan struct{} // closed and replaced by broadcast
	wish    *wish         // the operator's change that is being made; nil: none

	// news counts the events that may need a decision. decided is the value of news at the last
	// decision that found no step to take.
	news, decided uint64

	// The looks at all masters are numbered. These are the highest numbers of a look that is wanted, of
	// a look that has begun, and of a look that has ended.
	lookWanted, lookBegan, lookEnded uint64

	ctx   context.Context // ends with Stop
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// binding records, for one member, the master that is this member, or was this member last.
type binding struct {
	index int
	left  clock.Instant // when this client found that the master is not this member any more; 0 while it still is
}

// NewGroup returns a group. The caller must call SetMasters before any other method.
func NewGroup(cfg Config) *Group {
	g := &Group{Config: cfg, key: script.RegisterKey(cfg.Prefix), me: uuid.NewString(), known: evidence{}, bound: map[string]binding{}, changed: make(chan struct{}), woken: make(chan struct{}, 1)}
	g.ctx, g.stop = context.WithCancel(context.Background())
	return g
}

// SetMasters gives the group its masters, and starts its loop.
func (g *Group) SetMasters(masters []*master.Master) {
	g.Masters, g.masters = masters, make([]observed, len(masters))
	for i, m := range masters {
		g.masters[i].name = m.Name
	}
	g.tasks.Go(g.loop)
}

// Stop ends the tasks of the group. No task begins afterwards.
func (g *Group) Stop() {
	g.mu.Lock() // so that no call of task is between its check and its start
	defer g.mu.Unlock()
	g.stop()
}

func (g *Group) stopped() bool { return g.ctx.Err() != nil }

// Wait waits, after Stop, until the tasks have ended.
func (g *Group) Wait() { g.tasks.Wait() }

// task runs f in a goroutine, and returns true. Wait waits for this goroutine. After Stop, task returns
// false, and does not run f.
func (g *Group) task(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped() {
		return false
	}
	g.tasks.Go(f)
	return true
}

// View returns the newest view; nil if no version is known to be committed.
func (g *Group) View() *View { return g.view.Load() }

// world returns the input for decisions on steps. It leaves out the report of each master at which the
// last look failed.
func (g *Group) world() world {
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.reported()
	for i, m := range w.masters {
		if m.fault != nil {
			w.masters[i].report = nil
		}
	}
	l := w.learn(g.known)
	w.conflict, w.highest = l.conflict, l.accepted
	w.uncommitted = l.accepted > l.committed && (w.view == nil || l.accepted > w.view.Version)
	return w
}

// reported returns the input for views. It has the last report of every master, because a member that
// does not answer keeps its vote in the view. The caller holds mu.
func (g *Group) reported() world {
	return world{now: g.Now(), view: g.view.Load(), masters: slices.Clone(g.masters)}
}

// update calls change() with mu held, updates the view, and wakes the loop.
func (g *Group) update(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	g.relearn()
	g.news++
	g.broadcast()
	g.wake()
}

// wake makes the loop decide.
func (g *Group) wake() {
	select {
	case g.woken <- struct{}{}:
	default:
	}
}

// broadcast wakes all goroutines that wait for a change. The caller holds mu.
func (g *Group) broadcast() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// relearn updates the view from the reports. The caller holds mu.
func (g *Group) relearn() {
	w := g.reported()
	before := w.view
	l := w.learn(g.known)
	version := l.committed
	if before != nil && l.deployment == before.Deployment {
		version = max(version, before.Version)
	}
	if version == "" {
		return
	}
	var t *Table
	if is := g.known[version]; is != nil {
		t = is.table
	} else {
		t = before.Table
	}
	now := w.viewOf(l.deployment, version, t, func(id string) int { return g.bound[id].index })
	if now.same(before) {
		now = before
	} else {
		retry := func() {
			for i, m := range g.Masters {
				if before == nil || now.Version != before.Version || now.Out[i] == nil {
					m.Retry()
				}
			}
		}
		retry() // before the Store: a caller with the new view must not find a master down because of the old view
		g.view.Store(now)
		retry() // and after it: a connection that was made before the Store was judged by the old view
		if before == nil || before.Deployment == l.deployment {
			g.known.forget(version)
		}
	}
	for i, m := range g.masters {
		if !m.report.intact() || m.report.deployment != l.deployment {
			continue
		}
		if is := t.find(m.report.id); is != nil {
			g.masters[i].was = is.Address
		}
	}
}

func (g *Group) note(i int, r *report) { g.update(func() { g.take(i, r) }) }

// take stores a report. Only a function that is passed to update may call take.
func (g *Group) take(i int, r *report) {
	m := &g.masters[i]
	m.report, m.fault, m.refused = r, nil, false
	if m.run != r.run {
		m.run, m.runAt = r.run, g.Now()
	}
	if !r.intact() {
		g.unbind(i, "")
		return
	}
	g.bind(i, r.id)
	if r.version != "" {
		g.known.add(r.id, r.acceptedTable)
	}
}

// accepted records what a member replied: the ballot that it has promised (promised), and the table that
// it has accepted (is). The parameter asked is the time at which the request was sent. accepted reports
// whether the version of this table is known to be committed.
func (g *Group) accepted(i int, id string, asked clock.Instant, promised string, is acceptedTable) (committed bool) {
	g.update(func() {
		if is.version != "" {
			g.known.add(id, is)
		}
		if now := g.masters[i].report; now.is(id) && now.version <= is.version {
			r := *now
			r.asked, r.promised, r.acceptedTable = max(r.asked, asked), max(r.promised, promised), is
			g.take(i, &r)
		}
		committed = g.known.committed(is.version)
	})
	return committed
}

// bind ends a master's bindings to other members, and records that the master is the member with this
// id. It does not record this while another master is the member, or was the member until lately: the
// votes of the other master may still count. The caller holds mu.
func (g *Group) bind(i int, id string) {
	g.unbind(i, id)
	now := g.Now()
	if b, is := g.bound[id]; !is || b.index == i || b.left != 0 && now.Sub(b.left) > g.longestLease() {
		g.bound[id] = binding{index: i}
	}
}

// unbind ends a master's bindings to all members, except to the member with this id. If unbind has ended
// a binding, it replaces the master's connections, so that no more votes for the other member arrive on
// them. The caller holds mu.
func (g *Group) unbind(i int, id string) {
	for other, b := range g.bound {
		if b.index == i && other != id && b.left == 0 {
			g.Masters[i].Reconnect()
			g.bound[other] = binding{i, g.Now()}
		}
	}
}

func (g *Group) longestLease() time.Duration {
	if v := g.view.Load(); v != nil {
		return v.Table.Quarantine()
	}
	return g.MaxTTL
}

// Greeting returns the requests for a report and for the missing rights.
func (g *Group) Greeting() []master.Command { return append(greeting(g.key), g.rights()) }

// Greeted reads the replies to Greeting on a new connection, and stores the server's report. It returns
// the server's member id, or an error if the server may not vote on this connection.
func (g *Group) Greeted(m *master.Master, replies []master.Reply) (member string, err error) {
	last := len(replies) - 1
	r, err := readReport(g.key, replies[:last])
	if err != nil {
		return "", err
	}
	g.note(m.Index, r)
	why := r.weak
	if !r.intact() {
		why = r.condition()
	}
	if why != "" {
		return "", master.NotMember(why, master.MaxOut)
	}
	if err := lacking(replies[last:]); err != nil {
		return "", err
	}
	return r.id, g.another(m.Index, r)
}

// another returns an error if the server has the id of a member, and another master counts as this
// member.
func (g *Group) another(i int, r *report) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if first := g.bound[r.id].index; first != i {
		return master.NotMember(sameServer(g.masters[first].name), master.MaxOut)
	}
	return nil
}

// foreign returns why the server with this report is the wrong server for the master, or nil. The report may be from an
// old connection, and the master's name may lead to the right server by now. So the caller closes only old connections.
func (g *Group) foreign(i int, r *report) error {
	if !r.intact() {
		return master.NotMember(r.condition(), 0)
	}
	if v := g.view.Load(); v != nil && v.Out[i] != nil && v.Table.find(r.id) == nil {
		return v.Out[i]
	}
	return g.another(i, r)
}

// Refused handles a server's refusal. A refusal because of the version carries the version and the
// table that the server has accepted. Refused records this acceptance if it is new to the client.
// Otherwise, and after any other refusal, Refused asks the server for a report.
func (g *Group) Refused(m *master.Master, refusal string) {
	learned := false
	g.update(func() {
		is := &g.masters[m.Index]
		is.refused = true
		words := strings.SplitN(refusal, " ", 4) // VERSION, the version, learned or accepted, the table
		if len(words) < 4 || !is.report.intact() || is.fault != nil {
			return
		}
		r := *is.report
		if r.accepts(words[1], words[3], words[2] == "learned") == nil && (r.version > is.report.version || r.learned && !is.report.learned) {
			g.take(m.Index, &r)
			learned = true
		}
	})
	if !learned {
		g.look(m.Index)
	}
}

// look asks a master for its report. If such a request is under way, look repeats it afterwards, because
// the report that is under way may lack what has happened since.
func (g *Group) look(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := &g.masters[i]
	m.again = m.looking
	if m.looking || g.stopped() {
		return
	}
	m.looking = true
	g.tasks.Go(func() {
		for again := true; again; {
			r, err := g.report(g.Masters[i])
			g.update(func() {
				again = m.again && !g.stopped()
				m.looking, m.again = again, false
				if err == nil {
					g.take(i, r)
				} else {
					m.fault = err
				}
			})
			g.looked(i, r, err)
		}
	})
}

// looked ends connections that lead to the wrong server. While there is no view, looked also makes
// requests to the master fail if a report shows no member, or if there is no report.
func (g *Group) looked(i int, r *report, err error) {
	switch unknown := g.view.Load() == nil; { // without a view, only looks are sent to the masters
	case err == nil:
		if why := g.foreign(i, r); why != nil {
			g.Masters[i].Leave(why)
		}
		if unknown && !r.intact() {
			g.Masters[i].Unusable(master.NotMember(r.condition(), 0))
		}
	case unknown:
		g.Masters[i].Unusable(err)
	}
}

// Kick makes the group look at all masters, and then take the next step. It returns the number of this
// look.
func (g *Group) Kick() (look uint64) {
	g.update(func() {
		look = g.lookBegan + 1
		g.lookWanted = look
	})
	return look
}

// observe looks at all masters, and then returns the world. It waits for at most lookTimeout for
// masters that do not report. If fully is true, it waits for as long as a report may take.
func (g *Group) observe(ctx context.Context, fully bool) world {
	look := g.Kick()
	g.until(ctx, g.Timeout, func() bool { return g.lookEnded >= look })
	if fully {
		g.until(ctx, g.Timeout, func() bool { return !g.looking() })
	}
	return g.world()
}

// looking reports whether a master was asked for a report that has not arrived yet. The caller holds mu.
func (g *Group) looking() bool {
	return slices.ContainsFunc(g.masters, func(m observed) bool { return m.looking })
}

// First returns the view as soon as there is one. It returns nil if there is still no view when all
// masters have been asked. It also returns nil when ctx or the timeout ends.
func (g *Group) First(ctx context.Context, timeout time.Duration) *View {
	if v := g.view.Load(); v != nil {
		return v
	}
	g.Kick()
	g.until(ctx, timeout, func() bool { return g.view.Load() != nil || g.decided == g.news && !g.looking() })
	return g.view.Load()
}

// Settled waits until the loop has handled all news up to this call, and returns the current view. As
// soon as the current view's version differs from before.Version, Settled returns. It returns nil if
// ctx or the timeout ends first.
func (g *Group) Settled(ctx context.Context, before *View, timeout time.Duration) *View {
	g.mu.Lock()
	news := g.news
	g.mu.Unlock()
	settled := func() bool { return g.view.Load().Version != before.Version || g.decided >= news }
	if !g.until(ctx, timeout, settled) || ctx.Err() != nil || g.stopped() {
		return nil
	}
	return g.view.Load()
}

// Overtaken reports whether to repeat a request that had v's version. outdated marks the masters that had no
// vote in v, or refused the request because of its version. Overtaken returns true if the current view has
// another version by now. It also returns true if one of these masters has reported, after the request, that it
// votes at v's version. The result changed is a channel that is closed when one of these facts may have changed.
func (g *Group) Overtaken(v *View, outdated []bool) (overtaken bool, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.view.Load()
	overtaken = now.Version != v.Version
	for i, m := range g.masters {
		overtaken = overtaken || outdated[i] && now.Out[i] == nil && !m.refused && m.report.votedAt(now)
	}
	return overtaken, g.changed
}

// until() waits until done() returns true, and then returns true. It returns false if ctx, the timeout or
// the group ends first. It calls done() with mu held.
func (g *Group) until(ctx context.Context, timeout time.Duration, done func() bool) bool {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		g.mu.Lock()
		over, changed := done(), g.changed
		g.mu.Unlock()
		if over {
			return true
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		case <-g.ctx.Done():
			return false
		}
	}
}

// Faults returns, for each master, why this master could not vote at the last look; nil if it could.
func (g *Group) Faults() []error {
	w := g.world()
	faults := make([]error, len(w.masters))
	for i := range faults {
		faults[i] = w.fault(i)
	}
	return faults
}

// NeedsInit reports whether only an init helps. A client with a view needs no init. A client without a
// view needs one in two cases: more than half of the masters reported that they have no table; or the
// reports show that no client can find out which version is committed.
func (g *Group) NeedsInit() bool {
	w := g.world()
	unfounded := 0
	for _, m := range w.masters {
		if m.report != nil && m.report.table == nil {
			unfounded++
		}
	}
	return w.view == nil && (unfounded > len(w.masters)/2 || w.unlearnable())
}

// Lists reports whether name is a member's address, or the name of a master that is a member.
func (g *Group) Lists(name string) bool {
	w := g.world()
	return w.view != nil && w.named(name) != nil
}
