package master_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
)

// In a long queue, a renewal may still wait when its retry comes. The retry takes the place of the renewal.
func TestRenewalKeepsQueuePosition(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		const ttl = 6 * time.Second
		d.MoveAway(func() time.Duration { return time.Second })
		c := d.Reached(redlock.WithTTL(2*ttl), redlock.WithRequestTimeout(5*time.Second))
		ctx, cancel := context.WithCancel(context.Background())
		var others sync.WaitGroup
		for i := range 32 { // 32 callers with 64 requests each: half of all requests are under way at once
			names := make([]string, limits.MaxNames)
			for j := range names {
				names[j] = fmt.Sprint("set ", i, " name ", j)
			}
			others.Go(func() {
				for ctx.Err() == nil {
					if set, err := c.TryLockAll(ctx, names); err == nil { // it may also take too long, and fail
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
