//go:build unix

package redlock

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkReadMostly has 64 readers and a writer of one name, each of which holds it for a millisecond: the readers by RLock,
// or by Lock as if there were only a mutex. An operation is a read. Nobody may read while the writer has it.
func BenchmarkReadMostly(b *testing.B) {
	const clients, readers, work = 8, 64, time.Millisecond
	all := benchClients(b, clients+1)
	for _, way := range []struct {
		name string
		lock func(*Client, context.Context, string, ...LockOption) (*Lock, error)
	}{{"readers", (*Client).RLock}, {"mutex", (*Client).Lock}} {
		b.Run(way.name, func(b *testing.B) {
			var reading, writing, left atomic.Int64
			left.Store(int64(b.N))
			var mu sync.Mutex
			var waits []time.Duration
			ctx, over := context.WithCancel(background)
			var read, wrote sync.WaitGroup
			for i := range readers {
				read.Go(func() {
					var own []time.Duration
					for left.Add(-1) >= 0 {
						begin := time.Now()
						lock, err := way.lock(all[i%clients], background, "name")
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
						if err := lock.Unlock(background); err != nil {
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
					if err := lock.Unlock(background); err != nil {
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
