package growth

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// namesHeld makes one client hold n names and renew each of them about once. The ttl grows with n, so that two
// cores can renew all names. A lost lock is an error.
func namesHeld(t testing.TB, n int, length time.Duration) map[string]float64 {
	const shortestTTL, renewalsPerSecond = 3 * time.Second, 5000
	ttl := max(shortestTTL, 3*time.Duration(n)*time.Second/renewalsPerSecond)
	d := deploy(t, redlock.WithMaxTTL(ttl))
	var renewals, lost atomic.Int64
	c := d.open(redlock.WithTTL(ttl), redlock.WithMaxTTL(ttl), redlock.WithObserver(redlock.Observer{
		Renewed: func(context.Context, redlock.Renewal) { renewals.Add(1) },
		Ended:   func(context.Context, redlock.HoldEnd) { lost.Add(1) },
	}))
	must(t, take(c, "first")) // so that the client is connected
	keys, before, beforeMaster := d.keys(), heap(), d.mean("memory", "used_memory")
	takeAll(d, c, n)
	until(t, "all masters have all locks", func() bool { return d.keys() >= keys+float64(n) })
	after, afterMaster := heap(), d.mean("memory", "used_memory")
	begun := renewals.Load()
	cpu, mastersCPU := d.costs(func() { time.Sleep(max(ttl/3, length)) })
	renewed := int(renewals.Load() - begun)
	if lost.Load() > 0 || renewed == 0 {
		t.Fatalf("%d locks were lost, %d renewals", lost.Load(), renewed)
	}
	return map[string]float64{
		"client-B/name": (after - before) / float64(n), "master-B/name": (afterMaster - beforeMaster) / float64(n),
		"client-µs/renewal": micros(cpu, renewed), "masters-µs/renewal": micros(mastersCPU, renewed),
	}
}

// namesIdle makes one client hold n names for so long that no renewal is due while it measures.
func namesIdle(t testing.TB, n int, length time.Duration) map[string]float64 {
	const ttl = 2 * time.Hour
	d := deploy(t, redlock.WithMaxTTL(ttl))
	var renewals atomic.Int64
	c := d.open(redlock.WithTTL(ttl), redlock.WithMaxTTL(ttl), redlock.WithObserver(redlock.Observer{
		Renewed: func(context.Context, redlock.Renewal) { renewals.Add(1) },
	}))
	takeAll(d, c, n)
	debug.FreeOSMemory() // otherwise the runtime does this work while the client is idle
	begun := time.Now()
	cpu, mastersCPU := d.costs(func() { time.Sleep(2 * length) })
	took := time.Since(begun)
	if renewals.Load() > 0 {
		t.Fatalf("%d renewals", renewals.Load())
	}
	return map[string]float64{"client-%": 100 * cpu.Seconds() / took.Seconds(), "masters-%": 100 * mastersCPU.Seconds() / took.Seconds()}
}

func take(c *redlock.Client, name string) error {
	_, err := c.Lock(context.Background(), name, redlock.WithWait(patience))
	return err
}

func takeAll(d *deployment, c *redlock.Client, n int) {
	atOnce(d, n, func(i int) error { return take(c, fmt.Sprintf("held-%09d", i)) })
}

// namesNew makes 64 workers lock and unlock n names, each name once.
func namesNew(t testing.TB, n int, _ time.Duration) map[string]float64 {
	d := deploy(t)
	c := d.open()
	begun := time.Now()
	atOnce(t, n, func(i int) error {
		lock, err := c.Lock(context.Background(), fmt.Sprintf("new-%09d", i), redlock.WithWait(patience))
		if err != nil {
			return err
		}
		return lock.Unlock(context.Background())
	})
	return map[string]float64{
		"pairs/s": float64(n) / time.Since(begun).Seconds(), "client-kB": heap() / 1e3, "master-kB": d.mean("memory", "used_memory") / 1e3,
		"keys": d.keys(),
	}
}

// sets locks and unlocks n names together, by LockAll.
func sets(t testing.TB, n int, length time.Duration) map[string]float64 {
	d := deploy(t)
	c := d.open()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("set-%02d", i)
	}
	pair := func() {
		set, err := c.LockAll(context.Background(), names, redlock.WithWait(patience))
		must(t, err)
		must(t, set.Unlock(context.Background()))
	}
	pair() // so that the client is connected
	var took []time.Duration
	cpu, mastersCPU := d.costs(func() {
		for end := time.Now().Add(length); time.Now().Before(end); {
			begun := time.Now()
			pair()
			took = append(took, time.Since(begun))
		}
	})
	return map[string]float64{
		"p50-µs/name": micros(workload.Quantile(took, .5), n), "p99-µs/name": micros(workload.Quantile(took, .99), n),
		"client-µs/name": micros(cpu, n*len(took)), "masters-µs/name": micros(mastersCPU, n*len(took)),
	}
}
