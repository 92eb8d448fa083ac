package growth

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/usage"
)

const (
	// renewalsPerSecond are as many as two cores make with ease. The ttl grows with the names, so
	// that there are no more.
	renewalsPerSecond = 5000

	// shortestTTL is long enough for a machine that is busy.
	shortestTTL = 3 * time.Second

	// takers lock at a time.
	takers = 64
)

func namesHeld() Row {
	return Row{
		Name: "names-held", Title: "names that one client holds and renews, on 5 masters", Of: "names",
		Figures: []Figure{
			{"client memory", "bytes a name"}, {"a master's memory", "bytes a name"},
			{"client CPU", "µs a renewal"}, {"masters' CPU", "µs a renewal"},
		},
		ns: []int{100, 1000, 10_000, 100_000, 1_000_000}, usual: 100_000, measure: measureNamesHeld,
	}
}

// ttlFor is such that so many names are renewed at a third of it.
func ttlFor(names int) time.Duration {
	return max(shortestTTL, 3*time.Duration(names)*time.Second/renewalsPerSecond)
}

// renewals counts what an observer sees.
type renewals struct {
	had, lost atomic.Int64
	closes    atomic.Bool // from here on holds end because they should
}

func (r *renewals) observer() redlock.Observer {
	return redlock.Observer{
		Renewed: func(context.Context, redlock.Renewal) { r.had.Add(1) },
		Ended: func(context.Context, redlock.HoldEnd) {
			if !r.closes.Load() {
				r.lost.Add(1)
			}
		},
	}
}

// measureNamesHeld takes the names and lets each be renewed about once. A lock that is lost is an
// error.
func measureNamesHeld(n int, s Settings) (values []float64, err error) {
	ttl := ttlFor(n)
	d, err := deploy(server.RedisConfig{Masters: usualMasters, MaxTTL: ttl})
	if err != nil {
		return nil, err
	}
	defer d.stop()
	var seen renewals
	opts := []redlock.Option{redlock.WithTTL(ttl), redlock.WithMaxTTL(ttl), redlock.WithObserver(seen.observer())}
	err = d.with(opts, func(c *redlock.Client) error {
		defer seen.closes.Store(true)
		if err := takeAll(c, "first", 1); err != nil { // so that it is connected
			return err
		}
		keys, err := d.keys()
		if err != nil {
			return err
		}
		before, beforeMaster, err := heapAndMaster(d)
		if err != nil {
			return err
		}
		if err := takeAll(c, "held", n); err != nil {
			return err
		}
		if err := until("all masters have all locks", func() (bool, error) {
			now, err := d.keys()
			return now >= keys+float64(n), err
		}); err != nil {
			return err
		}
		after, afterMaster, err := heapAndMaster(d)
		if err != nil {
			return err
		}
		had, cpu, mastersCPU := seen.had.Load(), usage.Self(), usage.Of(d.PIDs)
		time.Sleep(max(ttl/3, s.Cell))
		cpu, mastersCPU = usage.Self()-cpu, usage.Of(d.PIDs)-mastersCPU
		renewed := int(seen.had.Load() - had)
		if lost := seen.lost.Load(); lost > 0 || renewed == 0 {
			return fmt.Errorf("%d locks were lost, %d renewals", lost, renewed)
		}
		values = []float64{(after - before) / float64(n), (afterMaster - beforeMaster) / float64(n), micros(cpu, renewed), micros(mastersCPU, renewed)}
		return nil
	})
	return values, err
}

func heapAndMaster(d *deployment) (client, master float64, err error) {
	master, err = d.mean("memory", "used_memory")
	return heap(), master, err
}

// takeAll locks so many names.
func takeAll(c *redlock.Client, prefix string, n int) error {
	return atOnce(takers, n, func(i int) error {
		_, err := c.Lock(context.Background(), fmt.Sprintf("%s-%09d", prefix, i), redlock.WithWait(patience))
		return err
	})
}

// atOnce does n things, so many at a time. The first errors end it.
func atOnce(workers, n int, do func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, min(workers, n))
	var wg sync.WaitGroup
	for w := range errs {
		wg.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[w] = do(i)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
