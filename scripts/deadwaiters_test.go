package scripts_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// These tests check what happens to the entries that killed waiters leave on the masters.

// killedWaiter makes a client wait for name, and kills the client while it is in line.
func killedWaiter(d *harness.Deployment, name string) {
	d.T.Helper()
	c, left := d.Mortal(math.MaxInt64)
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = c.Lock(ctx, name)
	}()
	d.TicketOf(c, name)
	left.Store(0)
	cancel()
	<-over
	_ = c.Close() // the client is dead: nothing reaches the masters
}

// A killed waiter is removed from the queues a minute after its last request, even while others wait.
func TestKilledWaitersExpire(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		lock := harness.MustTry(t, d.Client(), "job")
		got := harness.GoLock(t, d.Client(), "job")
		d.InLine("job", 1)
		const killed = 40
		for range killed {
			killedWaiter(d, "job")
		}
		d.InLine("job", killed+1)
		time.Sleep(script.QueueTTL + script.QueueTTL/3)
		k := script.KeysOf(limits.DefaultPrefix, "job", "")
		for i, r := range d.Raw {
			if n, words := r.ZCard(context.Background(), k.Queue).Val(), r.ZCard(context.Background(), k.Asked).Val(); n != 1 || words != 1 {
				t.Errorf("%d are in the queue of master %d, with %d requests", n, i, words)
			}
		}
		harness.Must(t, lock.Unlock(context.Background()))
		harness.Must(t, harness.Have(t, got).Unlock(context.Background()))
		harness.Eventually(t, "the queue is gone from all masters", func() bool {
			return !slices.ContainsFunc(d.Raw, func(r *redis.Client) bool {
				return r.Exists(context.Background(), k.Queue, k.Asked).Val() != 0
			})
		})
	})
}

// deadEverywhere puts n dead waiters at the head of each master's queue for name. Their last requests were sent
// at the time now - ago.
func deadEverywhere(d *harness.Deployment, name string, n int, ago time.Duration) {
	d.T.Helper()
	k, asked := script.KeysOf(limits.DefaultPrefix, name, ""), float64(time.Now().Add(-ago).UnixMicro())
	for _, r := range d.Raw {
		for i := range n {
			channel := fmt.Sprintf("%s:waits:%032x", limits.DefaultPrefix, i)
			harness.Must(d.T, r.ZAdd(context.Background(), k.Queue, redis.Z{Score: 1, Member: channel}).Err())
			harness.Must(d.T, r.ZAdd(context.Background(), k.Asked, redis.Z{Score: asked, Member: channel}).Err())
		}
	}
}

// A live waiter behind many dead waiters is called soon, even if the client that releases closes. No script skips
// more dead waiters than MaxSteps allows.
func TestReleaseSkipsDeadWaiters(t *testing.T) {
	for _, closes := range []bool{false, true} {
		harness.RunInVirtualTime(t, fmt.Sprint("closes: ", closes), 3, func(t *testing.T, d *harness.Deployment) {
			a, b := d.Reached(), d.Reached()
			held := harness.MustTry(t, a, "job")
			got := harness.GoLock(t, b, "job")
			d.TicketOf(b, "job")
			const dead = 20 * script.MaxSteps
			deadEverywhere(d, "job", dead, time.Second)
			start := time.Now()
			harness.Must(t, held.Unlock(context.Background()))
			if closes {
				harness.Must(t, a.Close())
			}
			lock := harness.Have(t, got)
			if took := time.Since(start); took > time.Second {
				t.Errorf("the waiter got the lock %v after the release", took)
			}
			harness.Must(t, lock.Unlock(context.Background()))
		})
	}
}
