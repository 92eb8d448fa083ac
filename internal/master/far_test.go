package master_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
)

// To a far master pipelines leave without waiting for those before: a step costs hardly more than a
// round trip, however many callers there are.
func TestFarMasters(t *testing.T) {
	t.Parallel()
	for _, trip := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
		for _, workers := range []int{1, 32} {
			t.Run(fmt.Sprint(trip, " ", workers), func(t *testing.T) {
				t.Parallel()
				harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
					d.MoveAway(func() time.Duration { return trip })
					c := d.Reached()
					var pairs, inSteps atomic.Int64
					work := func(until time.Time) {
						var working sync.WaitGroup
						for i := range workers {
							working.Go(func() {
								name := fmt.Sprint("job ", i)
								random := rand.New(rand.NewPCG(1, uint64(i)))
								for time.Now().Before(until) {
									began := time.Now()
									lock, err := c.TryLock(context.Background(), name)
									if err != nil {
										t.Error(err)
										return
									}
									// Workers that came together would leave together ever after.
									between := time.Duration(random.Float64() * float64(trip))
									time.Sleep(between)
									harness.Check(t, lock.Unlock(context.Background()))
									pairs.Add(1)
									inSteps.Add(int64(time.Since(began) - between))
								}
							})
						}
						working.Wait()
					}
					work(time.Now().Add(10 * trip)) // until all links are there
					pairs.Store(0)
					inSteps.Store(0)
					work(time.Now().Add(20 * trip))
					step := time.Duration(inSteps.Load() / max(1, 2*pairs.Load()))
					if step > trip*5/4 {
						t.Errorf("a step took %v on the average, with %v there and back", step, trip)
					}
				})
			})
		}
	}
}

// Two requests for one name never overtake each other, though each link has its own delay: a caller
// never meets the lock it has just released.
func TestFarMastersKeepTheOrderOfAName(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var refused atomic.Int64
		random := rand.New(rand.NewPCG(1, 2))
		var mu sync.Mutex
		d.MoveAway(func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return time.Millisecond + time.Duration(random.Int64N(int64(20*time.Millisecond)))
		})
		c := d.Reached(redlock.WithObserver(redlock.Observer{Acquired: func(_ context.Context, a redlock.Acquisition) {
			for _, v := range a.Votes {
				if v.Answer == redlock.Held {
					refused.Add(1)
				}
			}
		}}))
		var working sync.WaitGroup
		for i := range 16 {
			working.Go(func() {
				name := fmt.Sprint("job ", i)
				for range 30 {
					lock, err := c.TryLock(context.Background(), name)
					if err != nil {
						t.Error(err)
						return
					}
					harness.Check(t, lock.Unlock(context.Background()))
				}
			})
		}
		working.Wait()
		if n := refused.Load(); n > 0 {
			t.Errorf("%d votes found the lock that had been released before, want none", n)
		}
	})
}
