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
	"github.com/redlock-go/redlock/internal/planted"
)

// admissionTimeout bounds each step of an admission. It is rare, and touches all
// counters of a master, so it may take longer than a request.
const admissionTimeout = 5 * time.Second

// knownDeployments has those, by Client.deployment, of which a client of this
// process has seen a master vote. They are not new, however empty they are.
var knownDeployments sync.Map

// deployment names the deployment as this process knows it.
func (c *Client) deployment() string {
	names := make([]string, len(c.masters))
	for i, m := range c.masters {
		names[i] = m.name
	}
	slices.Sort(names)
	return c.prefix + " " + strings.Join(names, " ")
}

// admission brings masters in: it asks the servers, and does what planAdmission
// says.
type admission struct {
	mu       sync.Mutex
	runs     map[*master]string           // the run id of its server process
	apart    map[[2]*master]clock.Instant // when two that have the same run id were found to be two servers
	founding looks                        // into masters that were never used
	letting  looks                        // into others
	once     singleflight.Group
}

// looks are into masters, whether they may vote.
type looks struct {
	under int
	over  chan struct{} // closed when none is under way; nil if none is
}

// admit is asked on each new connection of a master whether the server at its
// other end may vote. It runs on the master's own goroutine, so whatever may wait for
// another master is left to lookInto.
func (c *Client) admit(m *master, hello hello) error {
	err := c.mayVote(m, hello)
	if err == nil {
		knownDeployments.Store(c.deployment(), true)
	}
	return err
}

func (c *Client) mayVote(m *master, hello hello) error {
	run := hello.info["run_id"]
	if other := c.admission.claim(m, run, c.now()); other != nil {
		return m.lookInto(func() error { return c.tellApart(m, other) }, c.admission.begin(&c.admission.letting))
	}
	in, err := readAdmitted(hello.admitted, run)
	if err != nil || in && !(believedDurable(hello.admitted) && hello.durable == notDurable) {
		return err
	}
	if hello.admitted == "" {
		return m.lookInto(func() error { return c.together()[m.index] }, c.admission.begin(&c.admission.founding))
	}
	if decided, err := c.readmitAlone(m, hello.durable); decided {
		return err
	}
	return m.lookInto(func() error { return c.together()[m.index] }, c.admission.begin(&c.admission.letting))
}

// claim notes which process the master is, and returns another one that says to be
// that, unless it was just found not to be.
func (a *admission) claim(m *master, run string, now clock.Instant) *master {
	a.mu.Lock()
	defer a.mu.Unlock()
	for other, its := range a.runs {
		if at, apart := a.apart[[2]*master{m, other}]; other != m && its == run && !(apart && now.Before(at.Add(maxAgain))) {
			return other
		}
	}
	a.runs[m] = run
	return nil
}

// tellApart returns why m may not vote, though another master has the run id that it
// says is its own: any server may say so, but what is written on one is not found on
// another. For that both are asked, so it is for lookInto.
func (c *Client) tellApart(m, other *master) error {
	same, err := sameServer(m, other)
	if err != nil {
		return &outError{fmt.Sprintf("it has the run id of %s, and whether it is the same server cannot be told: %v", other.name, err), maxRetry}
	}
	if same {
		return &outError{fmt.Sprintf("it is the same server as %s: give every server once", other.name), maxAgain}
	}
	c.admission.mu.Lock()
	defer c.admission.mu.Unlock()
	c.admission.apart[[2]*master{m, other}] = c.now()
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

// readmit looks into a master that may not vote, or lost a counter. It returns
// nil when it is all right now.
func (c *Client) readmit(m *master, d durability) error {
	if decided, err := c.readmitAlone(m, d); decided {
		return err
	}
	return c.together()[m.index]
}

// readmitAlone is readmit as far as that needs no other master.
func (c *Client) readmitAlone(m *master, d durability) (decided bool, err error) {
	mine, err := m.survey(d)
	if err != nil {
		return true, err
	}
	if !mine.forgotNothing() && mine.outFor >= c.quarantine() {
		return false, nil
	}
	alone := make([]*survey, len(c.masters))
	alone[m.index] = mine
	plan := planAdmission(alone, nil, c.need, c.quarantine(), 0)
	if floors := plan.floors[m.index]; floors != nil {
		return true, m.raise(mine, floors)
	}
	return true, plan.out[m.index]
}

// together looks into all masters at once, and returns for each why it may not
// vote. Calls at the same time share the work.
func (c *Client) together() []error {
	all, _, _ := c.admission.once.Do("", func() (any, error) {
		hellos, reasons := c.askAll()
		_, known := knownDeployments.Load(c.deployment())
		isNew := unused(hellos) && !known
		if isNew {
			// To survey is to note that they may not vote. Those that are missing shall not
			// find a deployment that was used.
			c.surveyAll((*master).glance, hellos, reasons)
			if missing := c.named(reasons); missing != nil {
				out := make([]error, len(hellos))
				for i := range out {
					out[i] = &outError{fmt.Sprintf("it was never used, and may vote when all masters can be looked into: %v", missing), maxRetry}
				}
				return orReasons(out, reasons), nil
			}
		}
		surveys := c.surveyAll((*master).survey, hellos, reasons)
		for i, s := range surveys {
			if s != nil {
				s.fresh = isNew && hellos[i].info["run_id"] == s.run
			}
		}
		plan := planAdmission(surveys, c.named(reasons), c.need, c.quarantine(), time.Now().UnixMilli())
		return orReasons(c.carryOut(surveys, plan), reasons), nil
	})
	return all.([]error)
}

// quarantine is how long a master that may have forgotten grants stays out: the
// longest ttl, what our clocks may differ by, and a second because servers tell
// their uptime in whole ones.
func (c *Client) quarantine() time.Duration {
	if planted.Bug == planted.NoQuarantine {
		return 0
	}
	return c.maxTTL + termsOf(c.maxTTL, 0, c.drift).drift + time.Second
}

// orReasons puts the reasons why masters cannot be asked in the place of what was
// planned without them.
func orReasons(out, reasons []error) []error {
	for i, reason := range reasons {
		if errors.Is(reason, ErrNotAdmitted) {
			out[i] = reason
		} else if reason != nil {
			out[i] = fmt.Errorf("%w: it cannot be looked into: %w", ErrNotAdmitted, reason)
		}
	}
	return out
}

// askAll says hello to all masters. Those that cannot be asked, or are no masters,
// have a reason instead.
func (c *Client) askAll() (hellos []*hello, reasons []error) {
	hellos, reasons = make([]*hello, len(c.masters)), make([]error, len(c.masters))
	var asking errgroup.Group
	for i, m := range c.masters {
		asking.Go(func() error {
			hello, err := m.ask()
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
func (c *Client) surveyAll(ask func(*master, durability) (*survey, error), hellos []*hello, reasons []error) []*survey {
	surveys := make([]*survey, len(c.masters))
	var asking errgroup.Group
	for i, m := range c.masters {
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
func (c *Client) carryOut(surveys []*survey, plan admissionPlan) []error {
	var writing errgroup.Group
	for i, floors := range plan.floors {
		if floors != nil {
			writing.Go(func() error {
				plan.out[i] = c.masters[i].raise(surveys[i], floors)
				return nil
			})
		}
	}
	_ = writing.Wait()
	return plan.out
}
