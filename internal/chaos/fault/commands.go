package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// commandTimeout is for a server that should answer.
const commandTimeout = 5 * time.Second

// command sends one command to the server, also when the run is over: it may be what heals.
func command(m cluster.Master, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	_, err := m.Do(ctx, args...)
	if err != nil {
		return fmt.Errorf("%s to %s: %w", args[0], m.Name(), err)
	}
	return nil
}

func applyFlushAll(_ context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	return each(all, func(m cluster.Master) error {
		if err := command(m, "flushall"); err != nil {
			return err
		}
		env.masterEvent(history.MasterWiped, m)
		return nil
	})
}

func applyEvict(_ context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	return each(all, func(m cluster.Master) error { return m.Evict(f.Percent) })
}

func applyScriptFlush(_ context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	return each(all, func(m cluster.Master) error { return command(m, "script", "flush") })
}

func applyOOM(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	limit := func(bytes int) func(cluster.Master) error {
		return func(m cluster.Master) error { return command(m, "config", "set", "maxmemory", bytes) }
	}
	err = each(all, limit(1))
	if err == nil {
		Wait(ctx, f.Span)
	}
	return errors.Join(err, each(all, limit(0)))
}

func applyBusy(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	return each(all, func(m cluster.Master) error {
		release, err := m.Occupy()
		if err != nil {
			return err
		}
		Wait(ctx, f.Span)
		return release()
	})
}
