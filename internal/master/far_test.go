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
	"github.com/redlock-go/redlock/internal/limits"
)

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

// The queues of far masters may be so long that a renewal waits for longer than until it is tried
// again. The next try has its place, so that its turn comes.
func TestARenewalKeepsItsPlaceInTheQueue(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		const ttl = 6 * time.Second
		d.MoveAway(func() time.Duration { return time.Second })
		c := d.Reached(redlock.WithTTL(2*ttl), redlock.WithRequestTimeout(5*time.Second))
		ctx, cancel := context.WithCancel(context.Background())
		var others sync.WaitGroup
		for i := range 32 { // with 64 requests each, of which half are under way at once
			names := make([]string, limits.MaxNames)
			for j := range names {
				names[j] = fmt.Sprint("set ", i, " name ", j)
			}
			others.Go(func() {
				for ctx.Err() == nil {
					if set, err := c.TryLockAll(ctx, names); err == nil { // else it took too long
						_ = set.Unlock(context.Background())
					}
				}
			})
		}
		time.Sleep(10 * time.Second) // until all links are there
		lock, err := c.Lock(context.Background(), "renewed", redlock.WithTTL(ttl))
		harness.Must(t, err)
		select {
		case <-lock.Context().Done():
			t.Errorf("the hold is over: %v", context.Cause(lock.Context()))
		case <-time.After(2 * ttl):
		}
		cancel()
		others.Wait()
	})
}
