package redlock

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

// admissionTimeout bounds each step of an admission. It is rare, and touches all
// counters of a master, so it may take longer than a request.
const admissionTimeout = 5 * time.Second

// knownDeployments has those, by deployment, of which a client of this
// process has seen a master vote. They are not new, however empty they are.
var knownDeployments sync.Map

// admission brings masters in: it asks the servers, and does what planAdmission
// says. It is the masters' gate.
type admission struct {
	admissionConfig
	masters []*master.Master // set before any of them is started

	mu       sync.Mutex                          // taken with nothing else, but that a master may be connecting
	runs     map[*master.Master]string           // the run id of its server process
	apart    map[[2]*master.Master]clock.Instant // when two that have the same run id were found to be two servers
	founding looks                               // into masters that were never used
	letting  looks                               // into others
	once     singleflight.Group
}

// admissionConfig is what an admission goes by.
type admissionConfig struct {
	prefix     string
	need       int           // quorum
	quarantine time.Duration // how long a master that may have forgotten grants stays out
	now        func() clock.Instant
}

func newAdmission(cfg admissionConfig) *admission {
	return &admission{admissionConfig: cfg, runs: make(map[*master.Master]string), apart: make(map[[2]*master.Master]clock.Instant)}
}

// deployment names the deployment as this process knows it.
func (a *admission) deployment() string {
	names := make([]string, len(a.masters))
	for i, m := range a.masters {
		names[i] = m.Name
	}
	slices.Sort(names)
	return a.prefix + " " + strings.Join(names, " ")
}

// looks are into masters, whether they may vote.
type looks struct {
	under int
	over  chan struct{} // closed when none is under way; nil if none is
}

// greeting and greeted make admission a gate.

func (a *admission) Greeting() []master.Command { return a.helloCommands() }

func (a *admission) Greeted(m *master.Master, replies []master.Reply) (master.Session, error) {
	hello, err := readHello(replies)
	return &visit{a, m, hello}, err
}

// visit is the session of a master's server that said hello.
type visit struct {
	*admission
	master *master.Master
	hello  hello
}

// admit leaves whatever may wait for another master to an inquiry.
func (v *visit) Admit() (*master.Inquiry, error) {
	later, err := v.mayVote()
	if err == nil && later == nil {
		knownDeployments.Store(v.deployment(), true)
	}
	return later, err
}

func (v *visit) mayVote() (*master.Inquiry, error) {
	run := v.hello.info["run_id"]
	if other := v.claim(v.master, run, v.now()); other != nil {
		return &master.Inquiry{Ask: func() error { return v.tellApart(v.master, other) }, Over: v.begin(&v.letting)}, nil
	}
	in, err := readAdmitted(v.hello.admitted, run)
	if err != nil || in && !(believedDurable(v.hello.admitted) && v.hello.durable == notDurable) {
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

// readmit looks into a master that lost a counter. It returns nil when it is all right
// now.
func (v *visit) Readmit() error {
	if decided, err := v.readmitAlone(v.master, v.hello.durable); decided {
		return err
	}
	return v.together()[v.master.Index]
}

// claim notes which process the master is, and returns another one that says to be
// that, unless it was just found not to be.
func (a *admission) claim(m *master.Master, run string, now clock.Instant) *master.Master {
	a.mu.Lock()
	defer a.mu.Unlock()
	for other, its := range a.runs {
		if at, apart := a.apart[[2]*master.Master{m, other}]; other != m && its == run && !(apart && now.Before(at.Add(master.MaxOut))) {
			return other
		}
	}
	a.runs[m] = run
	return nil
}

// tellApart returns why m may not vote, though another master has the run id that it
// says is its own: any server may say so, but what is written on one is not found on
// another. For that both are asked, so it is for an inquiry.
func (a *admission) tellApart(m, other *master.Master) error {
	same, err := a.sameServer(m, other)
	if err != nil {
		return master.NotAdmitted(fmt.Sprintf("it has the run id of %s, and whether it is the same server cannot be told: %v", other.Name, err), master.MaxRetry)
	}
	if same {
		return master.NotAdmitted(fmt.Sprintf("it is the same server as %s: give every server once", other.Name), master.MaxOut)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.apart[[2]*master.Master{m, other}] = a.now()
	return nil
}

// begin notes that a master is being looked into.
func (a *admission) begin(l *looks) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.under++; l.under == 1 {
		l.over = make(chan struct{})
	}
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if l.under--; l.under == 0 {
			close(l.over)
			l.over = nil
		}
	}
}

// settled waits until no master is being looked into: an attempt would else fail for
// the time that this takes. It waits as long as a deployment is being founded, and
// else for timeout at most. It reports whether there was anything to wait for that is
// over.
func (a *admission) settled(ctx context.Context, timeout time.Duration) bool {
	a.mu.Lock()
	over, unfounded := a.letting.over, a.founding.over
	a.mu.Unlock()
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
func (a *admission) readmitAlone(m *master.Master, d durability) (decided bool, err error) {
	mine, err := a.survey(m, d)
	if err != nil {
		return true, err
	}
	if !mine.forgotNothing() && mine.outFor >= a.quarantine {
		return false, nil
	}
	alone := make([]*survey, len(a.masters))
	alone[m.Index] = mine
	plan := planAdmission(alone, nil, a.need, a.quarantine, 0)
	if floors := plan.floors[m.Index]; floors != nil {
		return true, a.raise(m, mine, floors)
	}
	return true, plan.out[m.Index]
}

// together looks into all masters at once, and returns for each why it may not
// vote. Calls at the same time share the work.
func (a *admission) together() []error {
	all, _, _ := a.once.Do("", func() (any, error) {
		hellos, reasons := a.askAll()
		_, known := knownDeployments.Load(a.deployment())
		isNew := unused(hellos) && !known
		if isNew {
			// To survey is to note that they may not vote. Those that are missing shall not
			// find a deployment that was used.
			a.surveyAll(a.glance, hellos, reasons)
			if missing := a.named(reasons); missing != nil {
				out := make([]error, len(hellos))
				for i := range out {
					out[i] = master.NotAdmitted(fmt.Sprintf("it was never used, and may vote when all masters can be looked into: %v", missing), master.MaxRetry)
				}
				return orReasons(out, reasons), nil
			}
		}
		surveys := a.surveyAll(a.survey, hellos, reasons)
		for i, s := range surveys {
			if s != nil {
				s.fresh = isNew && hellos[i].info["run_id"] == s.run
			}
		}
		plan := planAdmission(surveys, a.named(reasons), a.need, a.quarantine, time.Now().UnixMilli())
		return orReasons(a.carryOut(surveys, plan), reasons), nil
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
func (a *admission) askAll() (hellos []*hello, reasons []error) {
	hellos, reasons = make([]*hello, len(a.masters)), make([]error, len(a.masters))
	var asking errgroup.Group
	for i, m := range a.masters {
		asking.Go(func() error {
			hello, err := a.hello(m)
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
func (a *admission) surveyAll(ask func(*master.Master, durability) (*survey, error), hellos []*hello, reasons []error) []*survey {
	surveys := make([]*survey, len(a.masters))
	var asking errgroup.Group
	for i, m := range a.masters {
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
func (a *admission) carryOut(surveys []*survey, plan admissionPlan) []error {
	var writing errgroup.Group
	for i, floors := range plan.floors {
		if floors != nil {
			writing.Go(func() error {
				plan.out[i] = a.raise(a.masters[i], surveys[i], floors)
				return nil
			})
		}
	}
	_ = writing.Wait()
	return plan.out
}
