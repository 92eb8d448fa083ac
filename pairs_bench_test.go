//go:build unix

package redlock

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// BenchmarkPairs locks and unlocks distinct names on five masters, with some number
// of workers, and tells what a pair costs this process. (The bench module compares
// with other libraries; this is for profiles: -cpuprofile, -memprofile.)
func BenchmarkPairs(b *testing.B) {
	c := benchClients(b, 1)[0]
	for _, workers := range []int{1, 64, 512} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			pair := func(name string) {
				lock, err := c.Lock(background, name)
				if err == nil {
					err = lock.Unlock(background)
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
func benchClients(b *testing.B, n int) []*Client {
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
	var clients []*Client
	for range n {
		c, err := Open(urls)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		clients = append(clients, c)
	}
	if err := clients[0].found(background, 0); err != nil {
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
