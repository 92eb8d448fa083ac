//go:build unix

package redlock_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// BenchmarkPairs locks and unlocks distinct names on five masters, and reports this process's cost of a pair. It is for
// profiles (-cpuprofile, -memprofile); module bench compares libraries.
func BenchmarkPairs(b *testing.B) {
	clients, urls := benchClients(b, 1, "")
	c := clients[0]
	for _, workers := range []int{1, 64, 512} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			pair(b, c, "reaching")
			b.ReportAllocs()
			before, calls := cpuTime(b), scriptCalls(b, urls)
			b.ResetTimer()
			each := max(1, b.N/workers)
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					for range each {
						pair(b, c, fmt.Sprint("job-", w))
					}
				})
			}
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(each*workers), "cpu-us/pair")
			b.ReportMetric(float64(scriptCalls(b, urls)-calls)/float64(len(urls)*each*workers), "scripts/pair")
			b.ReportMetric(float64(each*workers)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

func pair(b *testing.B, c *redlock.Client, name string) {
	lock, err := c.Lock(context.Background(), name)
	if err == nil {
		err = lock.Unlock(context.Background())
	}
	if err != nil {
		b.Error(err)
	}
}

// scriptCalls returns the number of EVALSHA commands that the masters have run. Without confirms, a pair of one worker
// takes two on each master, or fewer where requests of a slow master are sent together.
func scriptCalls(b *testing.B, urls []string) (calls int) {
	b.Helper()
	for _, url := range urls {
		r := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(url, "redis://")})
		stats, err := r.Info(context.Background(), "commandstats").Result()
		_ = r.Close()
		var n int
		_, after, _ := strings.Cut(stats, "cmdstat_evalsha:calls=")
		if _, scanned := fmt.Sscanf(after, "%d,", &n); err != nil || scanned != nil {
			b.Fatal(err, scanned)
		}
		calls += n
	}
	return calls
}

// benchClients returns clients of a new deployment of five masters, with an AOF unless fsync is "". It also returns the
// masters' URLs.
func benchClients(b *testing.B, n int, fsync string) (clients []*redlock.Client, urls []string) {
	b.Helper()
	servers, err := redisproc.StartN(5, redisproc.Config{AppendFsync: fsync})
	testskip.IfLacking(b, err, redisproc.ErrNotInstalled)
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range servers {
		b.Cleanup(func() { _ = s.Stop() })
		urls = append(urls, "redis://"+s.Addr())
	}
	for range n {
		c, err := redlock.Open(urls)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		clients = append(clients, c)
	}
	if err := admin.Init(context.Background(), clients[0], 0); err != nil {
		b.Fatal(err)
	}
	return clients, urls
}

// cpuTime returns the process's CPU time.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkReaders lets 40 callers, of one client or of four, hold a name for 20 ms each, on masters that write to
// disk. The callers hold slots, or read, or read while a writer comes every 100 ms. An operation is one hold.
func BenchmarkReaders(b *testing.B) {
	ctx := context.Background()
	all, _ := benchClients(b, 5, "always")
	hold := func(held *redlock.Lock, err error) {
		time.Sleep(20 * time.Millisecond)
		if unlocked := held.Unlock(ctx); unlocked != nil {
			b.Error(err, unlocked)
		}
	}
	for i := range 6 {
		clients, way := 1+i%2*3, []string{"slots", "readers", "beside-a-writer"}[i/2]
		b.Run(fmt.Sprintf("%s/%d", way, clients), func(b *testing.B) {
			var left atomic.Int64
			left.Store(int64(b.N))
			var reading, writing sync.WaitGroup
			for i := range 40 {
				c := all[i%clients]
				reading.Go(func() {
					for left.Add(-1) >= 0 {
						if way == "slots" {
							hold(c.Lock(ctx, way, redlock.WithSlots(40)))
						} else {
							hold(c.RLock(ctx, way))
						}
					}
				})
			}
			waits := []time.Duration{0}
			writing.Go(func() {
				for way == "beside-a-writer" && left.Load() > 0 {
					time.Sleep(100 * time.Millisecond)
					begin := time.Now()
					held, err := all[4].Lock(ctx, way)
					waits = append(waits, time.Since(begin))
					hold(held, err)
				}
			})
			reading.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
			writing.Wait()
			slices.Sort(waits)
			b.ReportMetric(waits[len(waits)/2].Seconds()*1000, "writer-p50-ms")
			b.ReportMetric(waits[len(waits)-1].Seconds()*1000, "writer-most-ms")
		})
	}
}
