//go:build unix

package redlock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// BenchmarkPairs locks and unlocks distinct names on five masters, with some number of workers, and
// tells what a pair costs this process. (The bench module compares with other libraries; this is
// for profiles: -cpuprofile, -memprofile.)
func BenchmarkPairs(b *testing.B) {
	c := benchClients(b, 1)[0]
	for _, workers := range []int{1, 64, 512} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			pair(b, c, "reaching")
			b.ReportAllocs()
			before := cpuTime(b)
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
			b.ReportMetric(float64(each*workers)/b.Elapsed().Seconds(), "pairs/s")
		})
	}
}

// pair locks and unlocks a name.
func pair(b *testing.B, c *redlock.Client, name string) {
	lock, err := c.Lock(context.Background(), name)
	if err == nil {
		err = lock.Unlock(context.Background())
	}
	if err != nil {
		b.Error(err)
	}
}

// benchClients returns clients of a new deployment of five masters.
func benchClients(b *testing.B, n int) []*redlock.Client {
	b.Helper()
	servers, err := redisproc.StartN(5, redisproc.Config{})
	testskip.IfLacking(b, err, redisproc.ErrNotInstalled)
	if err != nil {
		b.Fatal(err)
	}
	var urls []string
	for _, s := range servers {
		b.Cleanup(func() { _ = s.Stop() })
		urls = append(urls, "redis://"+s.Addr())
	}
	var clients []*redlock.Client
	for range n {
		c, err := redlock.Open(urls)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		clients = append(clients, c)
	}
	if err := harness.Found(context.Background(), clients[0], 0); err != nil {
		b.Fatal(err)
	}
	return clients
}

// cpuTime is what this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkReadMostly has 64 readers and a writer of one name, each of which holds it for a
// millisecond: the readers by RLock, or by Lock as if there were only a mutex. An operation is a
// read. (That nobody reads beside the writer is what tests show.)
func BenchmarkReadMostly(b *testing.B) {
	const clients, readers, work = 8, 64, time.Millisecond
	all := benchClients(b, clients+1)
	type lockBy func(*redlock.Client, context.Context, string, ...redlock.LockOption) (*redlock.Lock, error)
	for name, way := range map[string]lockBy{"readers": (*redlock.Client).RLock, "mutex": (*redlock.Client).Lock} {
		b.Run(name, func(b *testing.B) {
			var left, writes atomic.Int64
			left.Store(int64(b.N))
			waits := make([]time.Duration, b.N)
			ctx, over := context.WithCancel(context.Background())
			hold := func(lock lockBy, c *redlock.Client) (waited time.Duration) {
				begin := time.Now()
				held, err := lock(c, ctx, "name")
				if err != nil {
					return 0
				}
				waited = time.Since(begin)
				time.Sleep(work)
				if err := held.Unlock(context.Background()); err != nil {
					b.Error(err)
				}
				return waited
			}
			var read, wrote sync.WaitGroup
			for i := range readers {
				read.Go(func() {
					for n := left.Add(-1); n >= 0; n = left.Add(-1) {
						waits[n] = hold(way, all[i%clients])
					}
				})
			}
			wrote.Go(func() {
				for ; ctx.Err() == nil; writes.Add(1) {
					hold((*redlock.Client).Lock, all[clients])
				}
			})
			read.Wait()
			b.StopTimer()
			over()
			wrote.Wait()
			slices.Sort(waits)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
			b.ReportMetric(float64(writes.Load())/b.Elapsed().Seconds(), "writes/s")
			b.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkNames locks and unlocks several distinct names on five masters: as one set, and as
// single locks, one after the other. An operation is all of them.
func BenchmarkNames(b *testing.B) {
	c := benchClients(b, 1)[0]
	for _, count := range []int{1, 2, 8, 64} {
		var names []string
		for i := range count {
			names = append(names, fmt.Sprintf("name-%02d", i))
		}
		for way, locks := range map[string]func(b *testing.B){
			"set": func(b *testing.B) {
				locks, err := c.LockAll(context.Background(), names)
				if err == nil {
					err = locks.Unlock(context.Background())
				}
				if err != nil {
					b.Error(err)
				}
			},
			"one-by-one": func(b *testing.B) {
				for _, name := range names {
					pair(b, c, name)
				}
			},
		} {
			b.Run(fmt.Sprintf("%d/%s", count, way), func(b *testing.B) {
				locks(b)
				b.ReportAllocs()
				before := cpuTime(b)
				for b.Loop() {
					locks(b)
				}
				b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
			})
		}
	}
}
