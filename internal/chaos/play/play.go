// Package play takes clients through one round of chaos: faults within the fault model, faults out
// of it, and then none, after which operators mend the effects of faults and everything must work
// again. The masters may be real or simulated, and the time real or virtual.
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

// Phases are the durations of the phases.
type Phases struct{ InModel, OutOfModel, Healed time.Duration }

// Total returns the sum of the durations.
func (p Phases) Total() time.Duration { return p.InModel + p.OutOfModel + p.Healed }

// Round is one round. Set the fields once.
type Round struct {
	Env      *fault.Env
	Operator *operator.Operator
	Faults   fault.Schedule // those that begin before Phases.InModel are within the fault model
	Phases   Phases
	Recovery time.Duration // how soon after all faults the members must be the founders again
	Names    []string      // of the locks that all clients use

	// Lists returns the numbers of the masters that a client names; nil: each names all.
	Lists func(client int) []int

	// Story makes it a violation if a fault cannot be applied, because the faults belong together.
	Story bool

	// Soon ends the last phase as soon as everything works.
	Soon bool

	Log    history.Log
	Events func() ([]history.Event, error) // all events so far, of all processes
	Output io.Writer

	found    []check.Violation // that are not in the history
	operated bool              // whether the founders were made the members again
}

// Play founds the deployment, starts the clients and takes them through the phases. It returns
// violations that are not in the history. The error says why the round could not be played.
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

// founders records that the founders are the members, and vote.
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

// harm applies the faults, and returns when the phase is over and they are healed. It prints faults that could
// not be applied, because the machine lacks something or is too busy; the round is then less
// thorough, but not wrong.
func (r *Round) harm(ctx context.Context, s fault.Schedule, phase time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, phase)
	defer cancel()
	err := s.Run(ctx, r.Env)
	<-ctx.Done()
	if err == nil {
		return
	}
	fmt.Fprintf(r.Output, "chaos: faults that could not be as they should: %v\n", err)
	if r.Story && !errors.Is(err, errors.ErrUnsupported) {
		r.violate(check.Members, "%v", err)
	}
}

// operate does the operator's work after all faults are healed, and again while names are not yet locked,
// because a master that lost a counter shows it only when a lock of that counter is asked for. If a majority
// of the members lost its data, which only happens outside of the fault model, the deployment is unusable
// without that work. Then the founders become the members again, in spite of changes that were left half-way.
func (r *Round) operate(ctx context.Context) {
	for {
		begun, before := r.Log.Now(), r.Operator.Counts().Inits
		if err := r.Operator.Init(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(r.Output, "chaos: after all was healed: %v\n", err) // the clients will show whether the names are lockable
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
			continue // meanwhile more masters have noticed a lost counter; after the init none has lost one
		}
		if err != nil {
			r.violate(check.Members, "all faults ended, and within %v the members did not become the founders: %v", r.Recovery, err)
		} else if ctx.Err() == nil {
			r.founders()
		}
		is := r.Operator.Counts()
		fmt.Fprintf(r.Output, "chaos: changes of the members: %d made; %d locks taken; of both, %d refused, %d operators killed; %d inits by force\n",
			is.Made, is.Forced, is.Refused, is.Killed, is.Inits)
		return
	}
}

// restartShort restarts the clients that cannot notice that the deployment before an init is lost, as
// docs/OPERATIONS.md requires of an operator: the members changed, and the clients' lists may have too few
// of the old members.
func (r *Round) restartShort() {
	if r.Lists == nil || !r.Faults.ChangeMembers() {
		return
	}
	for i, name := range r.Env.World.Clients() {
		if len(r.Lists(i)) >= r.Operator.Founders {
			continue
		}
		if err := r.Env.RestartClient(name); err != nil {
			fmt.Fprintf(r.Output, "chaos: after an init: %v\n", err)
		}
	}
}

// recover waits until the last phase is over; with Soon, only until every name and every client was
// seen with a lock again. A client without a lock by the end did not recover.
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
			return // the read after the round fails too
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
