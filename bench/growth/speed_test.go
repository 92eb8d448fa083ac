package growth

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// masters measures n masters on one machine. With more masters, each pair is more work for the machine.
func masters(t testing.TB, n int, length time.Duration) map[string]float64 {
	cell := pairs(t, n, 64, length)
	must(t, cell.Err())
	return map[string]float64{
		"pairs/s*masters": cell.PerSecond * float64(n), "client-µs/pair/master": micros(cell.ClientCPU, n), "masters-µs/pair/master": micros(cell.ServerCPU, n),
		"p50-ms/master": millis(cell.PairP50, n), "p99-ms/master": millis(cell.PairP99, n),
	}
}

// workers measures n workers of one client. A call that gets no answer within the request timeout fails.
func workers(t testing.TB, n int, length time.Duration) map[string]float64 {
	cell := pairs(t, usualMasters, n, length)
	return map[string]float64{
		"pairs/s": cell.PerSecond, "client-µs/pair": micros(cell.ClientCPU, 1), "masters-µs/pair": micros(cell.ServerCPU, 1),
		"p50-µs/worker": micros(cell.PairP50, n), "p99-µs/worker": micros(cell.PairP99, n),
		"failed-%": 100 * float64(cell.Failed) / (float64(cell.Failed) + cell.Pairs),
	}
}

// pairs measures workers on distinct names.
func pairs(t testing.TB, masters, workers int, length time.Duration) workload.Cell {
	on, err := server.StartRedis(masters, 0)
	must(t, err)
	defer on.Stop()
	cell, err := workload.Measure(workload.Workload{Workers: workers}, contender.ByName("redlock"), child.Self, on, length)
	must(t, err)
	return cell
}
