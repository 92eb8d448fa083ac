package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/script"
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
	missing, err := c.members.Init(leastOf(floor))
	if missing != nil {
		return initNeedsAll(missing)
	}
	return err
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
	states, missing := c.members.Inspect()
	plan := InitPlan{AtLeast: fence.Token(leastOf(floor))}
	for _, state := range states {
		plan.Masters = append(plan.Masters, InitMaster(state))
	}
	if missing != nil {
		return plan, initNeedsAll(missing)
	}
	return plan, nil
}

// beginInit is enter for Init and PlanInit.
func (c *Client) beginInit(ctx context.Context, floor fence.Token) error {
	c.check(ctx)
	if floor > script.MaxFloor {
		return &OptionError{"floor", floor, fmt.Sprintf("it must be at most %d: the counters end at %d", int64(script.MaxFloor), int64(script.MaxCounter))}
	}
	return c.enter(ctx)
}

// leastOf is what every counter goes to.
func leastOf(floor fence.Token) int64 { return max(time.Now().UnixMilli(), int64(floor)) }

// initNeedsAll is the error of Init when masters are missing.
func initNeedsAll(missing error) error {
	return fmt.Errorf("%w: Init needs all masters: %w", ErrNoQuorum, missing)
}
