package growth

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/stats"
	"github.com/redlock-go/redlock/bench/internal/usage"
)

func sets() Row {
	return Row{
		Name: "sets", Title: "names in one LockAll, on 5 masters", Of: "names",
		Figures: []Figure{
			{"pair p50", "µs a name"}, {"pair p99", "µs a name"}, {"client CPU", "µs a name"}, {"masters' CPU", "µs a name"},
		},
		ns: []int{1, 2, 4, 8, 16, 32, 64}, usual: 64, measure: measureSets,
	}
}

func measureSets(n int, s Settings) (values []float64, err error) {
	d, err := deploy(server.RedisConfig{Masters: usualMasters})
	if err != nil {
		return nil, err
	}
	defer d.stop()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("set-%02d", i)
	}
	err = d.with(nil, func(c *redlock.Client) error {
		pair := func() error {
			set, err := c.LockAll(context.Background(), names, redlock.WithWait(patience))
			if err != nil {
				return err
			}
			return set.Unlock(context.Background())
		}
		if err := pair(); err != nil { // so that it is connected
			return err
		}
		var took []time.Duration
		cpu, mastersCPU := usage.Self(), usage.Of(d.PIDs)
		for end := time.Now().Add(s.Cell); time.Now().Before(end); {
			begun := time.Now()
			if err := pair(); err != nil {
				return err
			}
			took = append(took, time.Since(begun))
		}
		cpu, mastersCPU = usage.Self()-cpu, usage.Of(d.PIDs)-mastersCPU
		q, locked := stats.QuantilesOf(took), n*len(took)
		values = []float64{micros(q.P50, n), micros(q.P99, n), micros(cpu, locked), micros(mastersCPU, locked)}
		return nil
	})
	return values, err
}
