package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// Timeout bounds each step of an admission. It is rare, and touches all
// counters of a master, so it may take longer than a request.
const Timeout = 5 * time.Second

// knownDeployments has those, by deployment, of which a client of this
// process has seen a master vote. They are not new, however empty they are.
var knownDeployments sync.Map

// Group is the masters of a deployment. It brings them in: it asks the servers, and does
// what the plan says. It is the masters' Gate.
type Group struct {
	Config
	Masters []*master.Master // set before any of them is started

	mu       sync.Mutex                          // taken with nothing else, but that a master may be connecting
	runs     map[*master.Master]string           // the run id of its server process
	apart    map[[2]*master.Master]clock.Instant // when two that have the same run id were found to be two servers
	founding inquiries                           // into masters that were never used
	letting  inquiries                           // into others
	once     singleflight.Group
}

// Config is what a group goes by.
type Config struct {
	Prefix     string        // of all keys
	Need       int           // quorum
	Quarantine time.Duration // how long a master that may have forgotten grants stays out
	Now        func() clock.Instant
}

// New returns a group of masters, to be set before it is asked for anything.
func New(cfg Config) *Group {
	return &Group{Config: cfg, runs: make(map[*master.Master]string), apart: make(map[[2]*master.Master]clock.Instant)}
}

// deployment names the deployment as this process knows it.
func (g *Group) deployment() string {
	names := make([]string, len(g.Masters))
	for i, m := range g.Masters {
		names[i] = m.Name
	}
	slices.Sort(names)
	return g.Prefix + " " + strings.Join(names, " ")
}

// inquiries are into masters, whether they may vote.
type inquiries struct {
	under int
	over  chan struct{} // closed when none is under way; nil if none is
}

// Greeting asks for a hello.
func (g *Group) Greeting() []master.Command { return g.helloCommands() }

// Greeted reads the hello.
func (g *Group) Greeted(m *master.Master, replies []master.Reply) (master.Session, error) {
	hello, err := readHello(replies)
	return &visit{g, m, hello}, err
}

// visit is the session of a master's server that said hello.
type visit struct {
	*Group
	master *master.Master
	hello  hello
}

// Admit leaves whatever may wait for another master to an inquiry.
func (v *visit) Admit() (*master.Inquiry, error) {
	later, err := v.mayVote()
	if err == nil && later == nil {
		knownDeployments.Store(v.deployment(), true)
	}
	return later, err
}

func (v *visit) mayVote() (*master.Inquiry, error) {
	run := v.hello.info["run_id"]
	if other := v.claim(v.master, run, v.Now()); other != nil {
		return &master.Inquiry{Ask: func() error { return v.tellApart(v.master, other) }, Over: v.begin(&v.letting)}, nil
	}
	in, err := readAdmitted(v.hello.admitted, run)
	if err != nil || in && !(believedDurable(v.hello.admitted) && v.hello.durable == NotDurable) {
		return nil, err
	}
	together := func() error { return v.together()[v.master.Index] }
	if v.hello.admitted == "" {
		return &master.Inquiry{Ask: together, Over: v.begin(&v.founding)}, nil
	}
	if decided, err := v.readmitAlone(v.master, v.hello.durable); decided {
		return nil, err
	}
	return &master.Inquiry{Ask: together, Over: v.begin(&v.letting)}, nil
}

// Readmit looks into a master that lost a counter. It returns nil when it is all right
// now.
func (v *visit) Readmit() error {
	if decided, err := v.readmitAlone(v.master, v.hello.durable); decided {
		return err
	}
	return v.together()[v.master.Index]
}

// claim notes which process the master is, and returns another one that says to be
// that, unless it was just found not to be.
func (g *Group) claim(m *master.Master, run string, now clock.Instant) *master.Master {
	g.mu.Lock()
	defer g.mu.Unlock()
	for other, its := range g.runs {
		if at, apart := g.apart[[2]*master.Master{m, other}]; other != m && its == run && !(apart && now.Before(at.Add(master.MaxOut))) {
			return other
		}
	}
	g.runs[m] = run
	return nil
}

// tellApart returns why m may not vote, though another master has the run id that it
// says is its own: any server may say so, but what is written on one is not found on
// another. For that both are asked, so it is for an inquiry.
func (g *Group) tellApart(m, other *master.Master) error {
	same, err := g.sameServer(m, other)
	if err != nil {
		return master.NotAdmitted(fmt.Sprintf("it has the run id of %s, and whether it is the same server cannot be told: %v", other.Name, err), master.MaxRetry)
	}
	if same {
		return master.NotAdmitted(fmt.Sprintf("it is the same server as %s: give every server once", other.Name), master.MaxOut)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.apart[[2]*master.Master{m, other}] = g.Now()
	return nil
}

// begin notes that a master is being looked into.
func (g *Group) begin(l *inquiries) (end func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l.under++; l.under == 1 {
		l.over = make(chan struct{})
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if l.under--; l.under == 0 {
			close(l.over)
			l.over = nil
		}
	}
}

// Settled waits until no master is being looked into: an attempt would else fail for
// the time that this takes. It waits as long as a deployment is being founded, and
// else for timeout at most. It reports whether there was anything to wait for that is
// over.
func (g *Group) Settled(ctx context.Context, timeout time.Duration) bool {
	g.mu.Lock()
	over, unfounded := g.letting.over, g.founding.over
	g.mu.Unlock()
	var late <-chan time.Time
	if unfounded != nil {
		over = unfounded
	} else if over == nil {
		return false
	} else {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-over:
		return true
	case <-late:
		return false
	case <-ctx.Done():
		return false
	}
}

// readmitAlone is readmit as far as that needs no other master.
func (g *Group) readmitAlone(m *master.Master, d durability) (decided bool, err error) {
	mine, err := g.survey(m, d)
	if err != nil {
		return true, err
	}
	if !mine.forgotNothing() && mine.outFor >= g.Quarantine {
		return false, nil
	}
	alone := make([]*Survey, len(g.Masters))
	alone[m.Index] = mine
	plan := MakePlan(alone, nil, g.Need, g.Quarantine, 0)
	if floors := plan.Floors[m.Index]; floors != nil {
		return true, g.raise(m, mine, floors)
	}
	return true, plan.out[m.Index]
}

// together looks into all masters at once, and returns for each why it may not
// vote. Calls at the same time share the work.
func (g *Group) together() []error {
	all, _, _ := g.once.Do("", func() (any, error) {
		hellos, reasons := g.askAll()
		_, known := knownDeployments.Load(g.deployment())
		isNew := unused(hellos) && !known
		if isNew {
			// To survey is to note that they may not vote. Those that are missing shall not
			// find a deployment that was used.
			g.surveyAll(g.glance, hellos, reasons)
			if missing := g.named(reasons); missing != nil {
				out := make([]error, len(hellos))
				for i := range out {
					out[i] = master.NotAdmitted(fmt.Sprintf("it was never used, and may vote when all masters can be looked into: %v", missing), master.MaxRetry)
				}
				return orReasons(out, reasons), nil
			}
		}
		surveys := g.surveyAll(g.survey, hellos, reasons)
		for i, s := range surveys {
			if s != nil {
				s.fresh = isNew && hellos[i].info["run_id"] == s.Run
			}
		}
		plan := MakePlan(surveys, g.named(reasons), g.Need, g.Quarantine, time.Now().UnixMilli())
		return orReasons(g.carryOut(surveys, plan), reasons), nil
	})
	return all.([]error)
}

// orReasons puts the reasons why masters cannot be asked in the place of what was
// planned without them.
func orReasons(out, reasons []error) []error {
	for i, reason := range reasons {
		if errors.Is(reason, script.ErrNotAdmitted) {
			out[i] = reason
		} else if reason != nil {
			out[i] = fmt.Errorf("%w: it cannot be looked into: %w", script.ErrNotAdmitted, reason)
		}
	}
	return out
}

// askAll says hello to all masters. Those that cannot be asked, or are no masters,
// have a reason instead.
func (g *Group) askAll() (hellos []*hello, reasons []error) {
	hellos, reasons = make([]*hello, len(g.Masters)), make([]error, len(g.Masters))
	var asking errgroup.Group
	for i, m := range g.Masters {
		asking.Go(func() error {
			hello, err := g.hello(m)
			if err == nil {
				_, err = readAdmitted(hello.admitted, "")
			}
			if err == nil {
				hellos[i] = &hello
			}
			reasons[i] = err
			return nil
		})
	}
	_ = asking.Wait()
	return hellos, reasons
}

// surveyAll has one of survey, look and glance for each master that said hello. Those that
// cannot be surveyed get a reason instead.
func (g *Group) surveyAll(ask func(*master.Master, durability) (*Survey, error), hellos []*hello, reasons []error) []*Survey {
	surveys := make([]*Survey, len(g.Masters))
	var asking errgroup.Group
	for i, m := range g.Masters {
		if hellos[i] == nil {
			continue
		}
		asking.Go(func() error {
			surveys[i], reasons[i] = ask(m, hellos[i].durable)
			return nil
		})
	}
	_ = asking.Wait()
	return surveys
}

// carryOut does what the plan says, and returns for each master why it may not
// vote.
func (g *Group) carryOut(surveys []*Survey, plan Plan) []error {
	var writing errgroup.Group
	for i, floors := range plan.Floors {
		if floors != nil {
			writing.Go(func() error {
				plan.out[i] = g.raise(g.Masters[i], surveys[i], floors)
				return nil
			})
		}
	}
	_ = writing.Wait()
	return plan.out
}
