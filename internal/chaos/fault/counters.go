package fault

import (
	"context"
	"math"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
)

var counters = map[Counter]any{
	Above: int64(1<<52 + 1), Rounded: int64(1<<53 + 1), Last: int64(math.MaxInt64), Negative: -5, Text: "spoilt",
}

// applySpoil writes into the counters of all names. A master has lost them when it is asked for the
// first of them: the fault lasts until then.
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
		member, err := registered(ctx, env, m, "id")
		if err != nil {
			return err
		}
		if err := command(m, write...); err != nil {
			return err
		}
		if member[0] != nil { // else it is no member, and nobody finds out
			until(ctx, func() bool {
				now, err := registered(ctx, env, m, "id")
				return err == nil && now[0] != member[0]
			})
		}
		return nil
	})
}
