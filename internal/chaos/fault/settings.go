package fault

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
)

func set(m cluster.Master, name string, value any) error {
	return command(m, "config", "set", name, value)
}

// cacheRoom is the memory that other programs take before the first key goes: what connections take
// must not do it at once.
const cacheRoom = 1 << 20

// applyCache evicts in the middle of the span: the settings are there before the first key goes.
func applyCache(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	err = each(all, func(m cluster.Master) error {
		used, err := usedMemory(m)
		if err != nil {
			return err
		}
		return errors.Join(set(m, "maxmemory", used+cacheRoom), set(m, "maxmemory-policy", "volatile-lru"))
	})
	if err == nil {
		Wait(ctx, f.Span/2)
	}
	if err == nil && ctx.Err() == nil {
		err = each(all, cluster.Master.Crowd)
		Wait(ctx, f.Span/2)
	}
	return errors.Join(err, each(all, func(m cluster.Master) error {
		return errors.Join(set(m, "maxmemory-policy", "noeviction"), set(m, "maxmemory", 0))
	}))
}

func usedMemory(m cluster.Master) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	info, err := m.Do(ctx, "info", "memory")
	if err != nil {
		return 0, fmt.Errorf("info to %s: %w", m.Name(), err)
	}
	_, used, _ := strings.Cut(fmt.Sprint(info), "used_memory:")
	used, _, _ = strings.Cut(used, "\r")
	return strconv.Atoi(used)
}

func applyAOFOff(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	err = appendOnly(all, "no")
	if err == nil {
		Wait(ctx, f.Span)
	}
	return errors.Join(err, appendOnly(all, "yes"))
}

func appendOnly(all []cluster.Master, is string) error {
	return each(all, func(m cluster.Master) error { return set(m, "appendonly", is) })
}

// applyOldFile starts the masters by their configuration, which says that the AOF is on.
func applyOldFile(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	if err := appendOnly(all, "no"); err != nil {
		return errors.Join(err, appendOnly(all, "yes"))
	}
	Wait(ctx, f.Delay)
	return crash(ctx, f, env, true, func(cluster.Master) error { return nil })
}

func applyReplicaOf(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	leaders, err := env.mastersOf(Fault{Masters: f.Spare})
	if err != nil {
		return err
	}
	err = each(all, func(m cluster.Master) error { return m.ReplicaOf(leaders[0]) })
	if err == nil {
		Wait(ctx, f.Span)
	}
	return errors.Join(err, each(all, func(m cluster.Master) error {
		err := m.ReplicaOf(nil)
		if err == nil {
			untilNoted(ctx, env, m)
		}
		return err
	}))
}
