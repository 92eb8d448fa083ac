package admin

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// ErrNotFounded is returned by Init when the masters cannot be founded as one deployment, say
// because one is another's.
var ErrNotFounded = errors.New("redlock: not founded")

// Init founds a deployment: from then on the client's masters are its members, with its MaxTTL and
// drift. Call it once. The first client does not do it by itself, because a mistyped list of
// masters would then found a second deployment, and masters that were all emptied would look new.
//
// All masters must answer, and belong to no deployment. If an Init failed half-way, call Init again
// to finish it. If the masters are already founded as one deployment, Init raises all counters to
// at least floor, and changes nothing else.
//
// Init raises every counter to at least the highest counter of all masters, the Unix time in ms,
// and floor. If these masters were used before, and handed out more than 1 000 tokens a second,
// floor must be at or above every token that they handed out.
//
// Errors: ErrNotFounded, with the reason, if these masters cannot be founded; redlock.ErrNoQuorum,
// if one does not answer, or if the user lacks a right there (redlock.ErrDenied too, and nothing
// was changed); ctx's error and cause.
func Init(ctx context.Context, client *redlock.Client, floor fence.Token) error {
	return found(ctx, client, floor, false)
}

// ForceInit makes a new deployment of the client's masters, whatever they belong to. Use it when a
// majority of the members lost its data (redlock.ErrNeedsInit). All masters must answer.
//
// An operator must decide this, because the data that is left cannot tell whether it is right: no
// lock may be held any more (wait for the max ttl after the loss), floor must be as for Init, and
// members that are not among the client's masters must be gone.
func ForceInit(ctx context.Context, client *redlock.Client, floor fence.Token) error {
	return found(ctx, client, floor, true)
}

func found(ctx context.Context, client *redlock.Client, floor fence.Token, force bool) error {
	c := core.Of(ctx, client)
	leave, err := enterInit(ctx, c, floor)
	if err != nil {
		return err
	}
	defer leave()
	err = c.Members.Init(ctx, max(membership.FoundingFloor(), int64(floor)), force)
	if why, refused := errors.AsType[*membership.RefusedError](err); refused {
		return fmt.Errorf("%w: %w", ErrNotFounded, why)
	} else if err != nil && ctx.Err() != nil {
		return printable.Because(printable.ContextError(ctx), err)
	} else if err != nil {
		return fmt.Errorf("%w: Init needs all masters: %w", redlock.ErrNoQuorum, err)
	}
	return nil
}

// InitPlan is what Init would find.
type InitPlan struct {
	Masters []InitMaster // in the order they were given
	AtLeast fence.Token  // no counter would be below it

	// Does is what Init would do: "found" a deployment, "finish" one that an Init began, or "raise"
	// the counters of one that is founded. "" if a master does not answer.
	Does string

	// Refused is why Init would refuse these masters; nil if it would not. ForceInit requires only
	// that all masters answer.
	Refused error
}

// InitMaster is a master before Init.
type InitMaster struct {
	Master string // its address
	State  string // in words: what it belongs to, or what became of it
	Err    error  // why nothing is known of it
}

// PlanInit returns what Init with this floor would find and do, and changes nothing. Errors: bad
// input; ctx's error and cause; redlock.ErrClosed.
func PlanInit(ctx context.Context, client *redlock.Client, floor fence.Token) (InitPlan, error) {
	c := core.Of(ctx, client)
	leave, err := enterInit(ctx, c, floor)
	if err != nil {
		return InitPlan{}, err
	}
	defer leave()
	states, does, refused := c.Members.Inspect(ctx)
	if ctx.Err() != nil {
		return InitPlan{}, printable.ContextError(ctx)
	}
	plan := InitPlan{Does: does, AtLeast: max(fence.Token(membership.FoundingFloor()), floor)}
	for _, state := range states {
		plan.Masters = append(plan.Masters, InitMaster(state))
	}
	if refused != nil {
		plan.Refused = fmt.Errorf("%w: %w", ErrNotFounded, refused)
	}
	return plan, nil
}

// enterInit is Enter for Init and PlanInit.
func enterInit(ctx context.Context, c *core.Client, floor fence.Token) (leave func(), err error) {
	if floor > script.MaxFloor {
		return nil, &redlock.OptionError{Field: "floor", Value: floor, Rule: fmt.Sprintf("must be at most %d: the counters end at %d", int64(script.MaxFloor), int64(script.MaxCounter))}
	}
	return c.Enter(ctx)
}
