package redlock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/fence"
)

// Init makes a deployment usable of which a majority of masters lost its counters
// (ErrNeedsInit), or raises the counters of one that is in use. All masters must
// answer. Every counter goes to the highest of all masters', of the Unix time in
// ms, and of floor; all masters may vote at once. Counters that are missing or
// corrupt, and a note of who may vote that is, are written anew. PlanInit tells what
// it would do.
//
// It is an operator's decision, because nothing that is left can tell whether it
// is right: no lock may be held any more (wait for the longest ttl after the
// loss), and floor must be at or above every token that was handed out, if they
// were handed out at more than 1 000 a second over the deployment's life. If it
// fails half-way, do it again.
func (c *Client) Init(ctx context.Context, floor fence.Token) error {
	if err := c.beginInit(ctx, floor); err != nil {
		return err
	}
	defer c.calls.Done()
	hellos, reasons := c.admission.askAll()
	if err := c.initNeedsAll(reasons); err != nil {
		return err // before anything is noted on those that are there
	}
	surveys := c.admission.surveyAll(c.admission.survey, hellos, reasons)
	if err := c.initNeedsAll(reasons); err != nil {
		return err
	}
	plan := admissionPlan{floors: make([][]int64, len(surveys)), out: make([]error, len(surveys))}
	together := highest(surveys, leastOf(floor))
	for i := range surveys {
		plan.floors[i] = together
	}
	return c.admission.named(c.admission.carryOut(surveys, plan))
}

// InitPlan is what Init would do, and to what.
type InitPlan struct {
	// Every counter would go to the highest of all masters', and to AtLeast at
	// least.
	AtLeast fence.Token

	Masters []InitMaster // in the order they were given
}

// InitMaster is a master before Init.
type InitMaster struct {
	Master   string // its address
	State    string // in words: whether it may vote, or what became of it
	Lost     int    // of its Counters, how many are missing or corrupt
	Counters int
	Err      error // why Init cannot do without it; the rest is not known then
}

// PlanInit returns what Init with this floor would do, and changes nothing. The error
// is the one that Init would return for the same reason; the plan tells of the masters
// all the same, if they were asked.
func (c *Client) PlanInit(ctx context.Context, floor fence.Token) (InitPlan, error) {
	if err := c.beginInit(ctx, floor); err != nil {
		return InitPlan{}, err
	}
	defer c.calls.Done()
	hellos, reasons := c.admission.askAll()
	surveys := c.admission.surveyAll(c.admission.look, hellos, reasons)
	plan := InitPlan{AtLeast: fence.Token(leastOf(floor))}
	for i, m := range c.masters {
		is := InitMaster{Master: m.Name, Err: readable(reasons[i])}
		if s := surveys[i]; s != nil {
			is.State, is.Lost, is.Counters = s.state(), s.lost(), len(s.counters)
		}
		plan.Masters = append(plan.Masters, is)
	}
	return plan, c.initNeedsAll(reasons)
}

// beginInit is enter for Init and PlanInit.
func (c *Client) beginInit(ctx context.Context, floor fence.Token) error {
	c.check(ctx)
	if floor > maxFloor {
		return &OptionError{"floor", floor, fmt.Sprintf("it must be at most %d: the counters end at %d", int64(maxFloor), int64(maxCounter))}
	}
	return c.enter(ctx)
}

// leastOf is what every counter goes to.
func leastOf(floor fence.Token) int64 { return max(time.Now().UnixMilli(), int64(floor)) }

// initNeedsAll returns why masters cannot be asked.
func (c *Client) initNeedsAll(reasons []error) error {
	if err := c.admission.named(reasons); err != nil {
		return fmt.Errorf("%w: Init needs all masters: %w", ErrNoQuorum, err)
	}
	return nil
}

// named joins errors, one a master, each with its master's name.
func (a *admission) named(errs []error) (all error) {
	for i, err := range errs {
		switch {
		case err == nil:
		case all == nil:
			all = fmt.Errorf("%s: %w", a.masters[i].Name, readable(err))
		default:
			all = fmt.Errorf("%w; %s: %w", all, a.masters[i].Name, readable(err))
		}
	}
	return all
}

// state tells an operator what became of the server.
func (s *survey) state() string {
	switch {
	case s.in:
		return "may vote"
	case s.admitted == "":
		return "was never used, or lost all its data"
	case slices.Equal(strings.Fields(s.admitted), []string{"out", s.run, s.since}):
		return fmt.Sprintf("restarted or lost data %v ago", s.outFor.Round(time.Second))
	case admittedFormat.MatchString(s.admitted), strings.HasPrefix(s.admitted, "out "):
		return "restarted"
	}
	return fmt.Sprintf("its note of who may vote is corrupt: %q", s.admitted)
}
