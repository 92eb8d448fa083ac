// Package play takes clients through the phases of one round of chaos: faults within the fault model, faults out of the
// model, and no faults. In the last phase operators mend what the faults left, and everything must work again. The
// masters may be real or simulated, and the time real or virtual.
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

// Round is one round. Set the exported fields before Play.
type Round struct {
	Env      *fault.Env
	Operator *operator.Operator
	Faults   fault.Schedule // faults that begin before Phases.InModel are within the fault model
	Phases   Phases
	Recovery time.Duration // how soon after all faults the members must be the founders again
	Names    []string      // of the locks that all clients use

	// Lists returns the numbers of the masters that a client names. If Lists is nil, each client names all masters.
	Lists func(client int) []int

	// With Story, a fault that cannot be applied is a violation, because later faults build on it.
	Story bool

	// Soon ends the last phase as soon as everything works.
	Soon bool

	Log    history.Log
	Events func() ([]history.Event, error) // all events so far, of all processes
	Output io.Writer

	found    []check.Violation // violations that the history does not show
	operated bool              // whether the founders were made the members again
}

// Play founds the deployment, starts the clients and takes them through the phases. It returns the violations that the
// history does not show. The error reports why the round could not be played.
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

// harm applies the faults, and returns when the phase is over and all faults are healed. It prints faults that could
// not be applied: the machine may lack something, or be too busy. Then the round is less thorough, but its verdict is
// right.
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

// operate does the operator's work after all faults are healed. If a majority of the members lost its data, which
// happens only outside the fault model, operate founds a deployment by force. The first call, and each call that founds
// a deployment, also makes the founders the members again, because faults may have left changes unfinished. Further
// calls are needed until every name was locked once: a master that lost a counter shows the loss only when a client asks
// for a lock that uses this counter.
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
			continue // meanwhile more masters have noticed lost counters, so another init is needed
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

// restartShort restarts clients with short lists after an init, as docs/OPERATIONS.md requires of an operator. If the
// members had changed before, a short list may have too few of the old members. Then the client cannot notice that the
// old deployment is lost.
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

// recover waits until the last phase is over. With Soon, it waits only until every name was locked and every client
// held a lock after the end of the faults. It is a violation if a client held no lock by the end of the phase.
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
			return // the read after the round reports this error
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
