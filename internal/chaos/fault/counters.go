package fault

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
)

var counters = map[Counter]any{
	Above: int64(1<<52 + 1), Rounded: int64(1<<53 + 1), Last: int64(math.MaxInt64), Negative: -5, Text: "spoilt",
}

// applySpoil writes into the counters of all names. A master has lost them when it is asked for the first of them: the
// fault lasts until then.
func applySpoil(ctx context.Context, f Fault, env *Env) error {
	all, err := env.mastersOf(f)
	if err != nil {
		return err
	}
	write := []any{"mset"}
	for _, name := range env.Names {
		write = append(write, env.Counter(name), counters[f.Counter])
	}
	return each(all, func(m cluster.Master) error {
		member, err := memberID(ctx, env, m)
		if err != nil {
			return err
		}
		if err := command(m, write...); err != nil {
			return err
		}
		for member != nil && ctx.Err() == nil {
			if now, err := memberID(ctx, env, m); err == nil && now != member {
				return nil
			}
			Wait(ctx, 20*time.Millisecond)
		}
		return nil
	})
}

// memberID returns the id that the master has as a member, or nil: it is none.
func memberID(ctx context.Context, env *Env, m cluster.Master) (any, error) {
	fields, err := m.Do(ctx, "hmget", env.Register, "id")
	if err != nil {
		return nil, fmt.Errorf("hmget to %s: %w", m.Name(), err)
	}
	return fields.([]any)[0], nil
}
