//go:build unix

package redlock

import (
	"fmt"
	"sync"
	"testing"
)

// BenchmarkNames locks and unlocks several distinct names on five masters: as one set, and
// as single locks, one after the other and at the same time. An operation is all of them.
func BenchmarkNames(b *testing.B) {
	c := benchClients(b, 1)[0]
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
