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
			pair := func(name string) {
				lock, err := c.Lock(context.Background(), name)
				if err == nil {
					err = lock.Unlock(context.Background())
				}
				if err != nil {
					b.Error(err)
				}
			}
			pair("reaching")
			b.ReportAllocs()
			before := cpuTime(b)
			b.ResetTimer()
			var all sync.WaitGroup
			for w := range workers {
				all.Go(func() {
					name := fmt.Sprint("job-", w)
					for range max(1, b.N/workers) {
						pair(name)
					}
				})
			}
			all.Wait()
			b.StopTimer()
			done := float64(max(1, b.N/workers) * workers)
			b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/done, "cpu-us/pair")
			b.ReportMetric(done/b.Elapsed().Seconds(), "pairs/s")
		})
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
// read. Nobody may read while the writer has it.
func BenchmarkReadMostly(b *testing.B) {
	const clients, readers, work = 8, 64, time.Millisecond
	all := benchClients(b, clients+1)
	for _, way := range []struct {
		name string
		lock func(*redlock.Client, context.Context, string, ...redlock.LockOption) (*redlock.Lock, error)
	}{{"readers", (*redlock.Client).RLock}, {"mutex", (*redlock.Client).Lock}} {
		b.Run(way.name, func(b *testing.B) {
			var reading, writing, left atomic.Int64
			left.Store(int64(b.N))
			var mu sync.Mutex
			var waits []time.Duration
			ctx, over := context.WithCancel(context.Background())
			var read, wrote sync.WaitGroup
			for i := range readers {
				read.Go(func() {
					var own []time.Duration
					for left.Add(-1) >= 0 {
						begin := time.Now()
						lock, err := way.lock(all[i%clients], context.Background(), "name")
						if err != nil {
							b.Error(err)
							return
						}
						own = append(own, time.Since(begin))
						reading.Add(1)
						if writing.Load() > 0 {
							b.Error("it is read and written at the same time")
						}
						time.Sleep(work)
						reading.Add(-1)
						if err := lock.Unlock(context.Background()); err != nil {
							b.Error(err)
						}
					}
					mu.Lock()
					defer mu.Unlock()
					waits = append(waits, own...)
				})
			}
			writes := 0
			wrote.Go(func() {
				for ctx.Err() == nil {
					lock, err := all[clients].Lock(ctx, "name")
					if err != nil {
						return
					}
					writing.Store(1)
					if reading.Load() > 0 {
						b.Error("it is written and read at the same time")
					}
					time.Sleep(work)
					writing.Store(0)
					if err := lock.Unlock(context.Background()); err != nil {
						b.Error(err)
					}
					writes++
				}
			})
			read.Wait()
			b.StopTimer()
			over()
			wrote.Wait()
			slices.Sort(waits)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
			b.ReportMetric(float64(writes)/b.Elapsed().Seconds(), "writes/s")
			b.ReportMetric(float64(waits[len(waits)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkNames locks and unlocks several distinct names on five masters: as one set, and as
// single locks, one after the other and at the same time. An operation is all of them.
func BenchmarkNames(b *testing.B) {
	c := benchClients(b, 1)[0]
	single := func(b *testing.B, name string) {
		lock, err := c.Lock(context.Background(), name)
		if err == nil {
			err = lock.Unlock(context.Background())
		}
		if err != nil {
			b.Error(err)
		}
	}
	for _, count := range []int{1, 2, 8, 64} {
		var names []string
		for i := range count {
			names = append(names, fmt.Sprintf("name-%02d", i))
		}
		for _, way := range []struct {
			name string
			pair func(b *testing.B)
		}{
			{"set", func(b *testing.B) {
				locks, err := c.LockAll(context.Background(), names)
				if err == nil {
					err = locks.Unlock(context.Background())
				}
				if err != nil {
					b.Error(err)
				}
			}},
			{"one-by-one", func(b *testing.B) {
				for _, name := range names {
					single(b, name)
				}
			}},
			{"at-once", func(b *testing.B) {
				var all sync.WaitGroup
				for _, name := range names {
					all.Go(func() { single(b, name) })
				}
				all.Wait()
			}},
		} {
			b.Run(fmt.Sprintf("%d/%s", count, way.name), func(b *testing.B) {
				way.pair(b)
				b.ReportAllocs()
				before := cpuTime(b)
				for b.Loop() {
					way.pair(b)
				}
				b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-us/op")
			})
		}
	}
}
