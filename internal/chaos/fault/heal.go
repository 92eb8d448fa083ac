package fault

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
)

// HealAll makes everything work again, whatever was left: masters up, thawed and with room, their
// clocks right, the network whole, client processes going on. Call it when no Apply is under way;
// after one that failed it is what mends the rest. Client processes that are dead are started.
func HealAll(ctx context.Context, env *Env) error {
	err := each(env.World.Masters(), func(m cluster.Master) error { return heal(ctx, env, m) })
	for _, client := range env.World.Clients() {
		for _, p := range env.World.Front(client) {
			p.Heal()
			p.Latency(0)
			p.Refuse(false)
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
	if err := m.FreeDisk(); err != nil {
		return err
	}
	if err := m.SetClock(0); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if err := thaw(env, m); err != nil {
		return err
	}
	if !m.Running() {
		if err := start(env, m); err != nil {
			return err
		}
	}
	_, _ = m.Do(ctx, "script", "kill") // mostly there is none
	if env.World.Fsync() != cluster.None {
		if err := set(m, "appendonly", "yes"); err != nil {
			return err
		}
	}
	return errors.Join(set(m, "maxmemory", 0), set(m, "maxmemory-policy", "noeviction"), m.ReplicaOf(nil))
}
