package growth

// workers share the cores: once those are full, each of them has so much less of them. Where a call
// comes to no master within the request timeout, it fails.
func workers() Row {
	return Row{
		Name: "workers", Title: "workers of one client on distinct names, on 5 masters", Of: "workers",
		Figures: []Figure{
			{"speed", "pairs/s"}, {"client CPU", "µs a pair"}, {"masters' CPU", "µs a pair"},
			{"pair p50", "µs a worker"}, {"pair p99", "µs a worker"}, {"failed", "% of calls"},
		},
		ns: []int{1, 4, 16, 64, 256, 1024, 4096}, usual: 4096,
		measure: func(n int, s Settings) ([]float64, error) {
			cell, err := pairs(usualMasters, n, s)
			failed, had := float64(cell.Failed), cell.PerSecond*s.Cell.Seconds()
			return []float64{
				cell.PerSecond, micros(cell.ClientCPU, 1), micros(cell.ServerCPU, 1), micros(cell.Pair.P50, n), micros(cell.Pair.P99, n),
				100 * failed / max(failed+had, 1),
			}, err
		},
	}
}
