package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// Apply waits until no other fault holds the things that this fault needs. Then it begins the fault, and heals the
// fault after the span or as soon as ctx ends. It tries to heal the fault even after an error. The error wraps
// errors.ErrUnsupported if the masters do not support the fault.
func (f Fault) Apply(ctx context.Context, env *Env) error {
	k, known := kinds[f.Kind]
	if !known {
		return fmt.Errorf("fault: there is no kind %q", f.Kind)
	}
	keys := f.needs(env)
	if len(keys) > 0 {
		if err := env.hold(ctx, keys); err != nil {
			return fmt.Errorf("fault: %s: %w", f, err)
		}
		defer env.release(keys)
	}
	env.Emit(history.Event{Kind: history.FaultBegins, Fault: f.String()})
	all, err := env.mastersOf(f.Masters)
	if err == nil {
		err = k.apply(ctx, f, env, all)
	}
	end := history.Event{Kind: history.FaultEnds, Fault: f.String()}
	if err != nil {
		end.Err = err.Error()
		err = fmt.Errorf("fault: %s: %w", f, err)
	}
	env.Emit(end)
	return err
}

// needs returns the things that the fault holds while it lasts.
func (f Fault) needs(env *Env) []string {
	what := kinds[f.Kind].hands
	if what == "" {
		return nil
	}
	hands := []string{what}
	if f.Clients != "" {
		hands = nil
		for _, client := range f.Clients.Names(env.World.Clients()) {
			hands = append(hands, client+" "+what)
		}
	}
	if f.Masters == 0 {
		return hands
	}
	var keys []string
	for _, n := range f.Masters.Numbers() {
		for _, hand := range hands {
			keys = append(keys, fmt.Sprintf("m%d %s", n, hand))
		}
	}
	return keys
}

// spanned returns a function that applies a fault: it calls begin() for each master of the fault, and end() for each of
// these masters after the span. It calls end() even if begin() failed.
func spanned(begin, end func(Fault, *Env, cluster.Master) error) func(context.Context, Fault, *Env, []cluster.Master) error {
	return func(ctx context.Context, f Fault, env *Env, all []cluster.Master) error {
		return during(ctx, f.Span, all,
			func(m cluster.Master) error { return begin(f, env, m) },
			func(m cluster.Master) error { return end(f, env, m) })
	}
}

// during calls begin() for each element, and end() for each element after the span. If begin() fails, during calls
// end() immediately.
func during[T any](ctx context.Context, span time.Duration, all []T, begin, end func(T) error) error {
	err := each(all, begin)
	if err == nil {
		Wait(ctx, span)
	}
	return errors.Join(err, each(all, end))
}

// HealAll repairs what faults may have left, for example after a failed Apply. It starts and thaws the masters, resets
// their clocks and settings, heals the network, and continues or restarts the client processes. It must not run at the
// same time as Apply.
func HealAll(ctx context.Context, env *Env) error {
	err := each(env.World.Masters(), func(m cluster.Master) error { return heal(ctx, env, m) })
	for _, client := range env.World.Clients() {
		for _, p := range env.World.Front(client) {
			p.Heal()
			p.Latency(0)
			p.Divert(nil)
		}
		if env.Processes != nil {
			err = errors.Join(err, env.Processes.Continue(client), env.Processes.Restart(client))
		}
	}
	if err != nil {
		return fmt.Errorf("fault: heal all: %w", err)
	}
	return nil
}

func heal(ctx context.Context, env *Env, m cluster.Master) error {
	if err := m.SetClock(0); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := errors.Join(thaw(Fault{}, env, m), start(Fault{}, env, m)); err != nil {
		return err
	}
	_, _ = m.Do(ctx, "script", "kill") // usually fails, because no script runs
	if env.World.Fsync() != cluster.None {
		if err := command(m, "config", "set", "appendonly", "yes"); err != nil {
			return err
		}
	}
	return errors.Join(command(m, "config", "set", "maxmemory", 0), command(m, "config", "set", "maxmemory-policy", "noeviction"), m.ReplicaOf(nil))
}
