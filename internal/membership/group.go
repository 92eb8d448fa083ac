package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// Timeout bounds what touches all counters of a master.
const Timeout = 5 * time.Second

// Config is what a group goes by.
type Config struct {
	Prefix  string        // of all keys
	Timeout time.Duration // for one server to report, or to take its part in a change
	MaxTTL  time.Duration // of a deployment that is founded
	Drift   float64       // of one that is founded
	Now     func() clock.Instant
	Learned func(before, now *View) // told of each view; before is nil for the first
	Out     func(Outage)            // told of each member that is out for long
}

// Group is the masters of a client. It learns from them who may vote, and brings back those that
// lost their data.
type Group struct {
	Config
	Masters []*master.Master // set before any of them is started
	key     string           // of the register
	me      string           // for the turn
	names   []string

	view atomic.Pointer[View]

	mu          sync.Mutex      // held over no call
	reports     []*report       // by master: the last one; nil: none
	runs        []run           // by master: the process that reported last
	seen        []string        // by master: the address of the member that was behind it last; "": none was
	toldNames   map[string]bool // who was told of a name, of which member; since the version is known
	failures    []error         // by master: why it did not report when it was asked last
	refused     []bool          // by master: it refused a call since its last report
	looking     []bool          // by master: it is being asked
	known       *evidence
	bound       map[string]binding
	conflict    error
	changed     chan struct{} // closed, and made anew, when any of these changes
	working     bool
	rested      bool          // once there was nothing to be done
	outs        outs          // only work uses it
	someOut     atomic.Bool   // outs has some
	making      atomic.Int32  // how many operators' changes are being made
	acting      bool          // a step is under way
	again       bool          // something happened since work looked
	kicked      chan struct{} // holds a value when it did while work was under way
	pushing     []bool
	unableUntil []clock.Instant // a step failed there before
	timer       *time.Timer
	closed      bool

	ctx   context.Context // ends with Stop
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// run is a server process, and when a report of it came first.
type run struct {
	id    string
	since clock.Instant
}

// binding is the master that is a member.
type binding struct {
	index int
	gone  bool          // it was found to be another's
	left  clock.Instant // when it was
}

// NewGroup returns a group, to be given its masters before it is asked for anything.
func NewGroup(cfg Config) *Group {
	g := &Group{Config: cfg, key: script.RegisterKey(cfg.Prefix), me: uuid.NewString(), known: newEvidence(), bound: map[string]binding{}, changed: make(chan struct{}), outs: outs{}, kicked: make(chan struct{}, 1)}
	g.ctx, g.stop = context.WithCancel(context.Background())
	return g
}

// SetMasters gives the group its masters.
func (g *Group) SetMasters(masters []*master.Master) {
	g.Masters = masters
	g.reports, g.failures, g.refused = make([]*report, len(masters)), make([]error, len(masters)), make([]bool, len(masters))
	g.seen, g.runs = make([]string, len(masters)), make([]run, len(masters))
	g.looking, g.pushing, g.unableUntil = make([]bool, len(masters)), make([]bool, len(masters)), make([]clock.Instant, len(masters))
	for _, m := range masters {
		g.names = append(g.names, m.Name)
	}
}

// Stop ends what is under way. Nothing more is done, but for what masters still say.
func (g *Group) Stop() {
	g.mu.Lock()
	g.closed = true
	if g.timer != nil {
		g.timer.Stop()
	}
	g.mu.Unlock()
	g.stop()
}

// Wait waits for the end of what was under way at Stop.
func (g *Group) Wait() { g.tasks.Wait() }

// task runs f in a goroutine that Wait waits for, but not after Stop.
func (g *Group) task(f func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.tasks.Go(f)
	}
	return !g.closed
}

// Greeting asks for a report, and for the rights.
func (g *Group) Greeting() []master.Command { return append(greeting(g.key), g.rights()) }

// Greeted reads the report of a server on a new connection.
func (g *Group) Greeted(m *master.Master, replies []master.Reply) (member string, err error) {
	last := len(replies) - 1
	r, err := readReport(g.key, replies[:last])
	if err != nil {
		return "", err
	}
	g.note(m.Index, r)
	if g.someOut.Load() { // this may be one of them, back
		g.Kick()
	}
	why := r.weak
	if !r.intact() {
		why = r.fault()
	}
	if why != "" {
		g.Kick()
		return "", master.NotMember(why, master.MaxOut)
	}
	if err := lacking(replies[last:]); err != nil {
		return "", err
	}
	return r.id, g.another(m.Index, r)
}

// another returns that the server has the id of another master, or nil.
func (g *Group) another(i int, r *report) error {
	g.mu.Lock()
	first := g.bound[r.id].index
	g.mu.Unlock()
	if first != i {
		return master.NotMember(sameServer(g.names[first]), master.MaxOut)
	}
	return nil
}

// foreign returns why a server that reported is none that the master should lead to, or nil. The
// master's name may lead to the right one by now, and only its connections to this one.
func (g *Group) foreign(i int, r *report) error {
	if !r.intact() {
		return master.NotMember(r.fault(), 0)
	}
	if v := g.view.Load(); v != nil && v.Out[i] != nil && v.Table.find(r.id) == nil {
		return v.Out[i]
	}
	return g.another(i, r)
}

// Refused makes the group find out why the server refused.
func (g *Group) Refused(m *master.Master) {
	g.mu.Lock()
	g.refused[m.Index] = true
	g.mu.Unlock()
	g.Kick()
	g.look(m.Index) // a look at all masters that is under way may wait for another one
}

// look asks a master for its report, unless that is under way.
func (g *Group) look(i int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.looking[i] || g.closed {
		return
	}
	g.looking[i] = true
	g.tasks.Go(func() {
		r, err := g.report(g.Masters[i])
		if err == nil {
			g.note(i, r)
			if why := g.foreign(i, r); why != nil {
				g.Masters[i].Leave(why)
			}
		}
		g.mu.Lock()
		g.looking[i] = false
		if err != nil {
			g.failures[i] = err
		}
		unknown := g.view.Load() == nil // then nothing else is sent to the masters
		g.mu.Unlock()
		g.tell()
		switch {
		case !unknown:
		case err != nil:
			g.Masters[i].Unusable(err)
		case !r.intact():
			g.Masters[i].Unusable(master.NotMember(r.fault(), 0))
		}
	})
}

// report asks a master for one. With g.allRights it fails if one is lacking.
func (g *Group) report(m *master.Master, rights ...master.Command) (*report, error) {
	ctx, cancel := context.WithTimeout(g.ctx, g.Timeout)
	defer cancel()
	asked, at := greeting(g.key), g.Now()
	replies, err := m.Do(ctx, append(asked, rights...)...)
	if err != nil {
		return nil, err
	}
	r, err := readReport(g.key, replies[:len(asked)])
	if errors.Is(err, script.ErrNotMember) {
		m.Leave(err)
	}
	if err != nil {
		return nil, err
	}
	if len(rights) > 0 {
		if err := lacking(replies[len(asked):]); err != nil {
			return nil, err
		}
	}
	r.asked = at
	return r, nil
}

// tell wakes all who wait for a change.
func (g *Group) tell() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.changed)
	g.changed = make(chan struct{})
}

// note takes a report, and learns from it.
func (g *Group) note(i int, r *report) {
	g.mu.Lock()
	again := g.failures[i] != nil // the steps were decided without what it reported before
	g.reports[i], g.failures[i], g.refused[i] = r, nil, false
	if g.runs[i].id != r.run {
		g.runs[i] = run{r.run, g.Now()}
	}
	if !r.intact() {
		g.unbind(i, "")
	} else {
		g.bind(i, r.id)
		if r.version != "" {
			g.known.add(r.id, r.version, r.table, r.learned)
		}
	}
	g.mu.Unlock()
	g.relearn()
	if again {
		g.Kick()
	}
}

// bind notes which member a master is. The caller holds mu.
func (g *Group) bind(i int, id string) {
	g.unbind(i, id)
	now := g.Now()
	if b, is := g.bound[id]; !is || b.index == i || b.gone && now.Sub(b.left) > g.longestLease() {
		g.bound[id] = binding{index: i}
	}
}

// unbind notes that a master is none of the members that it was before, but the one with this id,
// if any. From now on, no vote of those comes by way of it. The caller holds mu.
func (g *Group) unbind(i int, id string) {
	for other, b := range g.bound {
		if b.index == i && other != id && !b.gone {
			g.Masters[i].Reconnect()
			b.gone, b.left = true, g.Now()
			g.bound[other] = b
		}
	}
}

// longestLease is for how long a vote of this deployment may count. The caller holds mu.
func (g *Group) longestLease() time.Duration {
	if v := g.view.Load(); v != nil {
		return v.Table.Quarantine()
	}
	return g.MaxTTL
}

// relearn makes the view what the reports tell by now, and has all members know it.
func (g *Group) relearn() {
	g.mu.Lock()
	before := g.view.Load()
	had, lost := before.had(g.names, g.seen, g.reports)
	l := learn(g.reports, g.known)
	deployment, err := l.deployment(had, lost)
	g.conflict = err
	now := before
	version := l.committed[deployment]
	if before != nil && deployment == had {
		version = max(version, before.Version)
	}
	if version != "" {
		t := g.known.tables[version]
		if t == nil {
			t = before.Table
		}
		now = viewOf(deployment, version, t, g.reports, g.names, g.seen, func(id string) int { return g.bound[id].index })
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
			retry() // who goes by the view at once finds no master down for what it was before
			g.view.Store(now)
			g.toldNames = map[string]bool{}
			retry() // who connected meanwhile was judged by the view before
			if before == nil || before.Deployment == deployment {
				g.known.forget(version)
			}
		}
	}
	if now != nil {
		g.see(now)
	}
	g.mu.Unlock()
	g.tell()
	if now != nil {
		g.push(now)
		g.tellNames(now)
	}
	if now != before {
		g.Learned(before, now)
		g.Kick()
	}
}

// push tells members that do not know that the view's version is committed.
func (g *Group) push(v *View) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, r := range g.reports {
		if r == nil || !r.intact() || r.deployment != v.Deployment || !v.Table.concerns(r.id) || g.pushing[i] || g.closed ||
			r.version > v.Version || r.version == v.Version && r.learned {
			continue
		}
		g.pushing[i] = true
		g.tasks.Go(func() {
			_, err := g.tellLearned(i, r.id, v)
			g.mu.Lock()
			g.pushing[i] = false
			g.mu.Unlock()
			if err != nil {
				return
			}
			told := *r
			told.version, told.table, told.learned = v.Version, v.Table, true
			g.mu.Lock()
			stale := g.reports[i] != r
			g.mu.Unlock()
			if !stale {
				g.note(i, &told)
			}
		})
	}
}

// tellLearned tells a member that a version is committed, and returns for how long it has known, by
// its own clock; below 0 if it is ahead.
func (g *Group) tellLearned(i int, id string, v *View) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(g.ctx, g.Timeout)
	defer cancel()
	ms, err := g.Masters[i].EvalInt(ctx, learnScript, []string{g.key}, id, v.Version, v.Table.text(), v.Deployment)
	return time.Duration(ms) * time.Millisecond, err
}

// View returns what is known; nil if nothing is.
func (g *Group) View() *View { return g.view.Load() }

// First returns the view as soon as there is one, or nil when all masters have been asked and there
// is none, or ctx or the time for it ends.
func (g *Group) First(ctx context.Context, timeout time.Duration) *View {
	if v := g.view.Load(); v != nil {
		return v
	}
	g.Kick()
	g.until(ctx, timeout, func() bool { return g.view.Load() != nil || !g.busy() && !slices.Contains(g.looking, true) })
	return g.view.Load()
}

// Settled waits until there is a view of another version than before's, or what was seen of the
// members has been looked into. It returns the view then, or nil if that takes longer than the time
// for it.
func (g *Group) Settled(ctx context.Context, before *View, timeout time.Duration) *View {
	settled := func() bool { return g.view.Load().Version != before.Version || !g.busy() }
	g.until(ctx, timeout, settled)
	g.mu.Lock()
	defer g.mu.Unlock()
	if ctx.Err() != nil || g.closed || !settled() {
		return nil
	}
	return g.view.Load()
}

// Overtaken reports that it is worth asking again what was asked at a view, when these masters had
// no vote: the version is another by now, or one of them has told since that it votes at it. Else
// it returns what is closed when more is known.
func (g *Group) Overtaken(v *View, outdated []bool) (overtaken bool, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.view.Load()
	overtaken = now.Version != v.Version
	for i, r := range g.reports {
		overtaken = overtaken || outdated[i] && now.Out[i] == nil && !g.refused[i] && r.tells(now)
	}
	return overtaken, g.changed
}

// busy reports that what masters said is being looked into. The caller holds mu.
func (g *Group) busy() bool { return g.working || g.again }

// until waits until done, which is called with mu held, or the end of ctx or of the time.
func (g *Group) until(ctx context.Context, timeout time.Duration, done func() bool) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		g.mu.Lock()
		over, changed := done() || g.closed, g.changed
		g.mu.Unlock()
		if over {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		case <-g.ctx.Done():
			return
		}
	}
}

// Faults returns for each master why it could not vote when it was asked last; nil where nothing is
// known.
func (g *Group) Faults() []error {
	g.mu.Lock()
	defer g.mu.Unlock()
	faults := make([]error, len(g.Masters))
	for i, r := range g.reports {
		switch {
		case g.failures[i] != nil:
			faults[i] = g.failures[i]
		case r != nil && !r.intact():
			faults[i] = fmt.Errorf("%w: %s", script.ErrNotMember, r.fault())
		case g.conflict != nil:
			faults[i] = g.conflict
		case r != nil && g.view.Load() == nil:
			faults[i] = errTooFew
		}
	}
	return faults
}

// errTooFew is why the answer of a member is of no use.
var errTooFew = errors.New("too few of the other masters answer to tell who votes")

// NeedsInit reports that the masters belong to no deployment of which a version is known, or can
// be.
func (g *Group) NeedsInit() bool {
	s := g.situation()
	unfounded := 0
	for _, r := range s.reports {
		if r != nil && r.table == nil {
			unfounded++
		}
	}
	return s.view == nil && (unfounded > len(s.reports)/2 || unlearnable(s.names, s.reports))
}
