// Package play takes clients through one round of chaos: faults within the fault model, faults out
// of it, and then none, after which operators mend what faults have left and everything must work
// again. The masters may be real ones or simulated, and the time real or virtual.
package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/operator"
)

// Phases are how long each phase takes.
type Phases struct{ InModel, OutOfModel, Healed time.Duration }

// Total returns how long all take together.
func (p Phases) Total() time.Duration { return p.InModel + p.OutOfModel + p.Healed }

// Round is one round. Set the fields once.
type Round struct {
	Env      *fault.Env
	Operator *operator.Operator
	Faults   fault.Schedule // those that begin before Phases.InModel are within the fault model
	Phases   Phases
	Recovery time.Duration // within it after all faults, the members are the founders again
	Names    []string      // of the locks that every client wants

	// Lists returns the numbers of the masters that a client names; nil: each names all.
	Lists func(client int) []int

	// Story says that the faults belong together: one that cannot be applied is a violation.
	Story bool

	// Soon says that the last phase ends as soon as everything works.
	Soon bool

	Log    history.Log
	Events func() ([]history.Event, error) // all that was logged by now, by anybody
	Says   io.Writer

	found    []check.Violation // that the history does not tell
	operated bool              // the members were made the founders again
}

// Play founds the deployment, starts the clients and takes them through the phases. It returns the
// violations that the history does not tell. The error says why the round could not be played.
func (r *Round) Play(ctx context.Context) ([]check.Violation, error) {
	if err := r.Operator.Found(ctx); err != nil {
		return nil, fmt.Errorf("chaos: founding the deployment: %w", err)
	}
	r.founders()
	looks := newLooks(r)
	defer looks.end()
	for i, name := range r.Env.World.Clients() {
		starts := history.Event{Kind: history.ClientStarts, Client: name}
		if r.Lists != nil {
			starts.Masters = fault.MastersOf(r.Lists(i)...).String()
		}
		r.Log.Write(starts)
		if err := r.Env.Processes.Restart(name); err != nil {
			return nil, err
		}
	}
	r.begin(history.InModel)
	r.harm(ctx, r.Faults.Before(r.Phases.InModel), r.Phases.InModel)
	r.begin(history.OutOfModel)
	r.harm(ctx, r.Faults.From(r.Phases.InModel), r.Phases.OutOfModel)
	looks.end()
	if err := fault.HealAll(ctx, r.Env); err != nil {
		return nil, err
	}
	r.begin(history.Healed)
	healed := r.Log.Now()
	r.operate(ctx)
	r.recover(ctx, healed)
	return r.found, ctx.Err()
}

// founders tells that they are the members, and vote.
func (r *Round) founders() {
	var all fault.Masters
	for n := range r.Operator.Founders {
		all |= fault.MastersOf(n)
	}
	r.Log.Write(history.Event{Kind: history.Members, Masters: all.String()})
}

func (r *Round) begin(phase string) {
	r.Log.Write(history.Event{Kind: history.PhaseBegins, Phase: phase})
}

func (r *Round) violate(rule, format string, args ...any) {
	r.found = append(r.found, check.Violation{Rule: rule, At: r.Log.Now(), Text: fmt.Sprintf(format, args...)})
}

// harm lets the faults happen, and returns when the phase is over and they are healed. What could
// not be done is said: the machine may lack something, or be too busy; the round is then poorer,
// and no less right.
func (r *Round) harm(ctx context.Context, s fault.Schedule, phase time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, phase)
	defer cancel()
	err := s.Run(ctx, r.Env)
	<-ctx.Done()
	if err == nil {
		return
	}
	fmt.Fprintf(r.Says, "chaos: faults that could not be as they should: %v\n", err)
	if r.Story && !errors.Is(err, errors.ErrUnsupported) {
		r.violate(check.Members, "%v", err)
	}
}

// operate is what the operator does after all is healed, and again while names are not yet locked:
// that a master lost a counter shows when a lock of that counter is asked for. When a majority of
// the members lost its data, which only happens outside of the fault model, nothing else makes the
// deployment usable again. Then the founders become the members again: no change that was left
// half-way hinders that.
func (r *Round) operate(ctx context.Context) {
	for {
		begun, before := r.Log.Now(), r.Operator.Counts().Inits
		if err := r.Operator.Init(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(r.Says, "chaos: after all was healed: %v\n", err) // the clients will tell whether it is lockable
		}
		if r.Operator.Counts().Inits > before {
			r.restartShort()
		}
		if r.operated && r.Operator.Counts().Inits == before || ctx.Err() != nil {
			return
		}
		r.operated = true
		err := r.Operator.Restore(ctx, r.Recovery-(r.Log.Now()-begun))
		if errors.Is(err, redlock.ErrNeedsInit) {
			continue // more masters have noticed meanwhile that they lost a counter; after the init none has
		}
		if err != nil {
			r.violate(check.Members, "all faults ended, and within %v the members did not become the founders: %v", r.Recovery, err)
		} else if ctx.Err() == nil {
			r.founders()
		}
		is := r.Operator.Counts()
		fmt.Fprintf(r.Says, "chaos: changes of the members: %d made; %d locks taken; of both, %d refused, %d operators killed; %d inits by force\n",
			is.Made, is.Forced, is.Refused, is.Killed, is.Inits)
		return
	}
}

// restartShort restarts the clients that cannot tell that the deployment before an init is lost, as
// docs/OPERATIONS.md asks of an operator: the members changed, and their lists may have too few of
// those that were.
func (r *Round) restartShort() {
	if r.Lists == nil || !r.Faults.ChangeMembers() {
		return
	}
	for i, name := range r.Env.World.Clients() {
		if len(r.Lists(i)) >= r.Operator.Founders {
			continue
		}
		if err := r.Env.RestartClient(name); err != nil {
			fmt.Fprintf(r.Says, "chaos: after an init: %v\n", err)
		}
	}
}

// recover waits until the last phase is over; with Soon, only until every name was locked again,
// and by every client something. Who locked nothing by the end did not recover.
func (r *Round) recover(ctx context.Context, healed time.Duration) {
	over, cancel := context.WithTimeout(ctx, r.Phases.Healed-(r.Log.Now()-healed))
	defer cancel()
	for !r.Soon && over.Err() == nil {
		fault.Wait(over, r.Phases.Healed/10)
		r.operate(over)
	}
	clients, locked := r.Env.World.Clients(), map[string]bool{}
	for ; ; fault.Wait(over, r.Phases.Healed/100) {
		events, err := r.Events()
		if err != nil {
			return // it is read again after the round, and fails there
		}
		for _, e := range events {
			if e.Kind == history.LockHeld && e.At > healed && (slices.Contains(r.Names, e.Name) || !locked[e.Client]) {
				locked[e.Name], locked[e.Client] = true, true
			}
		}
		missing := func(name string) bool { return !locked[name] }
		if over.Err() != nil || !slices.ContainsFunc(slices.Concat(r.Names, clients), missing) {
			break
		}
		r.operate(over)
	}
	for _, client := range clients {
		if !locked[client] && ctx.Err() == nil {
			r.violate(check.Recovery, "all faults ended at %v, and %s locked nothing in the %v since",
				healed.Round(time.Millisecond), client, r.Phases.Healed.Round(time.Second))
		}
	}
}
