package fault

import (
	"context"
	"fmt"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// Apply lets the fault happen and returns once it is healed, which is after its span or, when ctx
// ends before, at once. It waits first for faults that have the same thing in their hands. The
// error says what could not be done; it is errors.ErrUnsupported when the masters cannot have such
// a fault. Whatever the error, it has tried to heal.
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
	err := k.apply(ctx, f, env)
	end := history.Event{Kind: history.FaultEnds, Fault: f.String()}
	if err != nil {
		end.Err = err.Error()
		err = fmt.Errorf("fault: %s: %w", f, err)
	}
	env.Emit(end)
	return err
}

// needs returns what the fault has in its hands while it lasts.
func (f Fault) needs(env *Env) []string {
	var what string
	switch f.Kind {
	case Kill, Truncate, Restore, RollingRestart, Freeze, DiskFull, Promote, FlushAll, Evict, Spoil, Cache, AOFOff, OldFile, ReplicaOf, ScriptFlush, OOM, Busy, Password, Refuse:
		what = theProcess
	case Clock, Strobe, Drift:
		what = theClock
	case Partition, Stall:
		what = theWire
	case Delay:
		what = theDelay
	case Astray:
		what = theAddress
	case StopClient, KillClient:
		what = theClient
	default:
		return nil // Thaw is for a master in other hands; rules stand beside each other
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
