package growth

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/stats"
)

// waiters has two real clients that hand the name to each other, before all the others.
func waiters() Row {
	return Row{
		Name: "waiters", Title: "waiters for one name, on 5 masters", Of: "waiters in the queue",
		Figures: []Figure{
			{"acquire", "µs of a master"}, {"release", "µs of a master"}, {"leave", "µs of a master"},
			{"hand-over p50", "ms"}, {"hand-over p99", "ms"},
		},
		ns: []int{1, 10, 100, 1000, 10_000}, usual: 10_000, measure: measureWaiters,
	}
}

func measureWaiters(n int, s Settings) (values []float64, err error) {
	d, err := deploy(server.RedisConfig{Masters: usualMasters})
	if err != nil {
		return nil, err
	}
	defer d.stop()
	waiting := newEntries(n, late)
	end, err := waiting.live(d)
	if err != nil {
		return nil, err
	}
	defer end()
	if err := waiting.join(d, "scripts"); err != nil {
		return nil, err
	}
	took, err := timeScripts(d.direct[0], "scripts", s.Cell)
	if err != nil {
		return nil, err
	}
	handovers, err := handOver(d, waiting, s.Cell)
	q := stats.QuantilesOf(handovers)
	return []float64{micros(took.acquire, 1), micros(took.release, 1), micros(took.leave, 1), millis(q.P50), millis(q.P99)}, err
}

// handOver measures how long it takes from a release until the next has the lock.
func handOver(d *deployment, waiting entries, length time.Duration) (took []time.Duration, err error) {
	const name = "relay"
	r, err := newRelay(d, name)
	defer func() { err = errors.Join(err, r.close()) }()
	if err != nil {
		return nil, err
	}
	if err := waiting.join(d, name); err != nil {
		return nil, err
	}
	for end := time.Now().Add(length); len(took) == 0 || time.Now().Before(end); {
		if err := waiting.rejoin(d, name); err != nil {
			return took, err
		}
		got, err := r.wait()
		if err != nil {
			return took, err
		}
		t, err := r.hand(got)
		if err != nil {
			return took, err
		}
		took = append(took, t)
	}
	return took, nil
}
