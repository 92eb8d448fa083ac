package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// ErrNotFounded is returned by Init when the masters cannot be founded as one deployment, for example because one of
// them belongs to another deployment.
var ErrNotFounded = errors.New("redlock: not founded")

// Init founds a deployment: from then on the client's masters are its members. The deployment has the client's max
// ttl and drift. Call Init once. The first client does not found a deployment by itself, because a client with a
// mistyped list of masters would then found a second deployment, and a client cannot distinguish masters that were
// all emptied from new ones.
//
// All masters must answer, and be different servers. None may belong to another deployment, or to an unfinished Init
// with another list of masters. If an Init failed half-way, call Init again to finish it. If a master already has the
// deployment, its max ttl and drift stay. If all masters have it, Init only raises all counters to at least floor.
//
// Init raises every counter to the largest of three numbers, or above: the counter's highest value on any master, the
// Unix time in ms, and floor. If these masters were used before, and handed out more than 1 000 tokens a second,
// floor must be at or above every token that they handed out.
//
// Errors: ErrNotFounded, with the reason, if these masters cannot be founded; redlock.ErrNoQuorum,
// if a master does not answer, or denies a right (then also redlock.ErrDenied, and Init changed
// nothing); ctx's error and cause; redlock.ErrClosed.
func Init(ctx context.Context, client *redlock.Client, floor fence.Token) error {
	return found(ctx, client, floor, false)
}

// ForceInit makes a new deployment of the client's masters, whatever they belong to. Use it when a
// majority of the members lost its data (redlock.ErrNeedsInit). All masters must answer, and be different servers.
//
// Only an operator can decide to call ForceInit, because the data that is left does not show whether ForceInit is
// safe. It is safe under three conditions: no lock is held any more (wait for the max ttl after the loss); floor is
// as for Init; all members that still exist are among the client's masters.
func ForceInit(ctx context.Context, client *redlock.Client, floor fence.Token) error {
	return found(ctx, client, floor, true)
}

func found(ctx context.Context, client *redlock.Client, floor fence.Token, force bool) error {
	c := redlock.Inside(core.Key{}).Client(ctx, client)
	leave, err := enterInit(ctx, c, floor)
	if err != nil {
		return err
	}
	defer leave()
	err = c.Members.Init(ctx, max(membership.FoundingFloor(), int64(floor)), force)
	if why, refused := errors.AsType[*membership.RefusedError](err); refused {
		return fmt.Errorf("%w: %w", ErrNotFounded, why)
	} else if ended := c.Ended(ctx); err != nil && ended != nil {
		return printable.Because(ended, err)
	} else if err != nil {
		return fmt.Errorf("%w: Init needs all masters: %w", redlock.ErrNoQuorum, err)
	}
	return nil
}

// InitPlan is the state of the masters, and the effect that Init would have.
type InitPlan struct {
	Masters []InitMaster // in the order of the URLs
	AtLeast fence.Token  // every counter would be at least this

	// Does is the effect of Init: "found" a deployment, "finish" the founding of one, or "raise" the counters of a
	// founded one. Does is "" if a master has an Err.
	Does string

	// MaxTTL is the max ttl that the deployment would have: the client's if Does is "found", and otherwise
	// that of the deployment, which Init does not change. MaxTTL is 0 if a master has an Err.
	MaxTTL time.Duration

	// Refused is the reason why Init would refuse these masters, or nil. ForceRefused is the same for
	// ForceInit, which refuses only masters that do not answer, and a server that was given twice.
	Refused, ForceRefused error
}

// InitMaster is a master before Init.
type InitMaster struct {
	Master string // its address
	State  string // in words: what it belongs to
	Err    error  // why its state is not known
}

// PlanInit returns what Init with this floor would find and do. It changes nothing. Errors: bad
// input; ctx's error and cause; redlock.ErrClosed.
func PlanInit(ctx context.Context, client *redlock.Client, floor fence.Token) (InitPlan, error) {
	c := redlock.Inside(core.Key{}).Client(ctx, client)
	leave, err := enterInit(ctx, c, floor)
	if err != nil {
		return InitPlan{}, err
	}
	defer leave()
	is := c.Members.PlanInit(ctx)
	if ended := c.Ended(ctx); ended != nil {
		return InitPlan{}, ended
	}
	plan := InitPlan{
		Does: is.Does, MaxTTL: is.MaxTTL, AtLeast: max(fence.Token(membership.FoundingFloor()), floor),
		Refused: notFounded(is.Refused), ForceRefused: notFounded(is.ForceRefused),
	}
	for _, state := range is.Masters {
		plan.Masters = append(plan.Masters, InitMaster(state))
	}
	return plan, nil
}

func notFounded(why error) error {
	if why == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrNotFounded, why)
}

// enterInit checks the arguments of Init and PlanInit, and calls Enter.
func enterInit(ctx context.Context, c *core.Client, floor fence.Token) (leave func(), err error) {
	if floor > script.MaxFloor {
		return nil, &redlock.OptionError{Field: "floor", Value: floor, Rule: fmt.Sprintf("must be at most %d: the counters end at %d", int64(script.MaxFloor), int64(script.MaxCounter))}
	}
	return c.Enter(ctx)
}
