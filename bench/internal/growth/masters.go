package growth

import (
	"errors"
	"fmt"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/reexec"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// masters are all on one machine, which does for each pair as much as there are masters.
func masters() Row {
	return Row{
		Name: "masters", Title: "masters, for 64 workers on distinct names", Of: "masters",
		Figures: []Figure{
			{"speed", "pairs/s times masters"}, {"client CPU", "µs a pair and master"}, {"masters' CPU", "µs a pair and master"},
			{"pair p50", "ms a master"}, {"pair p99", "ms a master"},
		},
		ns: []int{1, 3, 5, 7, 9}, usual: 9,
		measure: func(n int, s Settings) ([]float64, error) {
			cell, err := pairs(n, 64, s)
			if cell.Failed > 0 {
				err = errors.Join(err, fmt.Errorf("%d calls failed, the first: %s", cell.Failed, cell.FirstErr))
			}
			masters := float64(n)
			return []float64{
				cell.PerSecond * masters, micros(cell.ClientCPU, n), micros(cell.ServerCPU, n),
				millis(cell.Pair.P50) / masters, millis(cell.Pair.P99) / masters,
			}, err
		},
	}
}

// pairs measures workers on distinct names.
func pairs(masters, workers int, s Settings) (workload.Cell, error) {
	w := workload.Workload{Workers: workers, Redis: server.RedisConfig{Masters: masters}}
	on, err := server.StartRedis(w.Redis)
	if err != nil {
		return workload.Cell{}, err
	}
	defer on.Stop()
	return workload.Measure(w, contender.ByName(contender.Redlock), reexec.Self, on, s.Cell)
}
