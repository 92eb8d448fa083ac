package redlock

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/redlock-go/redlock/internal/redisproc"
)

// BenchmarkNames locks and unlocks several distinct names on five masters: as one set, and
// as single locks, one after the other and at the same time. An operation is all of them.
func BenchmarkNames(b *testing.B) {
	servers, err := redisproc.StartN(5, redisproc.Config{})
	if errors.Is(err, redisproc.ErrNotInstalled) {
		b.Skipf("NOT RUN, no redis-server: %v", err)
	}
	if err != nil {
		b.Fatal(err)
	}
	var urls []string
	for _, s := range servers {
		b.Cleanup(func() { _ = s.Stop() })
		urls = append(urls, "redis://"+s.Addr())
	}
	c, err := Open(urls)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	if err := c.Init(background, 0); err != nil {
		b.Fatal(err)
	}
	single := func(b *testing.B, name string) {
		lock, err := c.Lock(background, name)
		if err == nil {
			err = lock.Unlock(background)
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
				locks, err := c.LockAll(background, names)
				if err == nil {
					err = locks.Unlock(background)
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
