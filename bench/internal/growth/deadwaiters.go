package growth

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/stats"
)

// deadWaiters stand before one that lives. Whoever releases goes past them, a batch after the
// other.
func deadWaiters() Row {
	return Row{
		Name: "dead-waiters", Title: "killed waiters before one that lives, on 5 masters", Of: "dead in the queue",
		Figures: []Figure{
			{"acquire", "µs of a master"}, {"release", "µs of a master"}, {"leave", "µs of a master"}, {"script p99", "µs, in the hand-over"},
			{"hand-over", "µs a dead waiter"},
		},
		ns: []int{1, 10, 100, 1000, 10_000, 100_000}, usual: 100_000, measure: measureDeadWaiters,
	}
}

func measureDeadWaiters(n int, s Settings) (values []float64, err error) {
	d, err := deploy(server.RedisConfig{Masters: usualMasters})
	if err != nil {
		return nil, err
	}
	defer d.stop()
	dead := newEntries(n, early)
	if err := dead.join(d, "scripts"); err != nil {
		return nil, err
	}
	took, err := timeScripts(d.direct[0], "scripts", s.Cell)
	if err != nil {
		return nil, err
	}
	scripts, handover, err := passDead(d, dead)
	return []float64{micros(took.acquire, 1), micros(took.release, 1), micros(took.leave, 1), micros(stats.QuantilesOf(scripts).P99, 1), micros(handover, n)}, err
}

// passDead measures one hand-over past the dead, and the scripts that the masters ran meanwhile.
func passDead(d *deployment, dead entries) (scripts []time.Duration, handover time.Duration, err error) {
	const name = "relay"
	r, err := newRelay(d, name)
	defer func() { err = errors.Join(err, r.close()) }()
	if err != nil {
		return nil, 0, err
	}
	got, err := r.wait()
	if err != nil {
		return nil, 0, err
	}
	if err := dead.join(d, name); err != nil {
		return nil, 0, err
	}
	ctx := context.Background()
	const all = 100_000 // scripts
	for _, c := range d.direct {
		if err := errors.Join(c.ConfigSet(ctx, "slowlog-max-len", "100000").Err(), c.ConfigSet(ctx, "slowlog-log-slower-than", "0").Err()); err != nil {
			return nil, 0, err
		}
	}
	if handover, err = r.hand(got); err != nil {
		return nil, 0, err
	}
	for _, c := range d.direct {
		log, err := c.SlowLogGet(ctx, all).Result()
		if err != nil {
			return nil, 0, err
		}
		for _, entry := range log {
			if strings.EqualFold(entry.Args[0], "evalsha") {
				scripts = append(scripts, entry.Duration)
			}
		}
	}
	return scripts, handover, nil
}
