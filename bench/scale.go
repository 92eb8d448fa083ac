package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/stats"
	"github.com/redlock-go/redlock/bench/internal/usage"
)

const (
	scaleTTL      = 30 * time.Second
	scaleTakers   = 64
	scalePatience = time.Minute           // for one lock, on a machine that is busy
	scaleWatched  = scaleTTL + scaleTTL/6 // all are renewed three times
)

// renewals notes when each lock was renewed, and what was lost.
type renewals struct {
	mu     sync.Mutex
	last   map[string]time.Time
	apart  []time.Duration
	ended  int
	closed bool // from here on holds end because they should
}

func (r *renewals) had(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if last, ok := r.last[name]; ok {
		r.apart = append(r.apart, now.Sub(last))
	}
	r.last[name] = now
}

func (r *renewals) observer() redlock.Observer {
	return redlock.Observer{
		Acquired: func(_ context.Context, a redlock.Acquisition) { r.had(a.Name) },
		Renewed:  func(_ context.Context, renewal redlock.Renewal) { r.had(renewal.Name) },
		Ended: func(context.Context, redlock.HoldEnd) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if !r.closed {
				r.ended++
			}
		},
	}
}

// holdMany takes n locks with one client, lets them be renewed for a while, and prints what they
// cost. A lock that is lost is an error.
func holdMany(out io.Writer, n int) error {
	masters, err := server.StartRedis(server.RedisConfig{Masters: 5})
	if err != nil {
		return err
	}
	defer masters.Stop()
	seen := &renewals{last: make(map[string]time.Time, n), apart: make([]time.Duration, 0, 4*n)}
	client, err := redlock.Open(masters.Addrs, redlock.WithTTL(scaleTTL), redlock.WithObserver(seen.observer()))
	if err != nil {
		return err
	}
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("scale-%d", i)
		seen.last[names[i]] = time.Time{} // so that the map grows now
	}
	clear(seen.last)

	before, goroutines := heap(), runtime.NumGoroutine()
	began := time.Now()
	if err := takeAll(client, names); err != nil {
		return errors.Join(err, client.Close())
	}
	fmt.Fprintf(out, "%d locks taken in %v\n", n, time.Since(began).Round(time.Millisecond))
	fmt.Fprintf(out, "memory: %.0f bytes a held lock\n", float64(heap()-before)/float64(n))
	fmt.Fprintf(out, "goroutines: %d before, %d while all are held\n", goroutines, runtime.NumGoroutine())

	cpu, serverCPU := usage.Self(), usage.Of(masters.PIDs)
	began = time.Now()
	time.Sleep(scaleWatched)
	watched := time.Since(began).Seconds()
	fmt.Fprintf(out, "CPU while renewing, seconds a second: client %.2f, masters %.2f together\n",
		(usage.Self()-cpu).Seconds()/watched, (usage.Of(masters.PIDs)-serverCPU).Seconds()/watched)
	return errors.Join(seen.report(out, names), client.Close())
}

func takeAll(client *redlock.Client, names []string) error {
	errs := make([]error, scaleTakers)
	var wg sync.WaitGroup
	for i := range scaleTakers {
		wg.Go(func() {
			for k := i; k < len(names) && errs[i] == nil; k += scaleTakers {
				_, errs[i] = client.Lock(context.Background(), names[k], redlock.WithWait(scalePatience))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// report prints how late renewals were, and ends the watch.
func (r *renewals) report(out io.Writer, names []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	late := slices.Clone(r.apart)
	for i := range late {
		late[i] -= scaleTTL / 3
	}
	q := stats.QuantilesOf(late)
	fmt.Fprintf(out, "renewals: %d, due every %v; later than that by p50 %v, p99 %v, max %v\n",
		len(late), scaleTTL/3, q.P50.Round(time.Millisecond), q.P99.Round(time.Millisecond), q.Max.Round(time.Millisecond))
	idle := 0
	for _, name := range names {
		if time.Since(r.last[name]) > scaleTTL {
			idle++
		}
	}
	fmt.Fprintf(out, "lost or expired: %d; not renewed within a ttl: %d\n", r.ended, idle)
	if r.ended+idle > 0 {
		return errors.New("locks were lost")
	}
	return nil
}

// heap is what is in use, without what nobody refers to any more.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the second takes what the first found in pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
