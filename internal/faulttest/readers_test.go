package faulttest

import (
	"context"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/script"
)

// Readers under faults, and the faults that the read-write locks of others have had.

// What a reader asked for and arrives after its Unlock, or after it gave up, is refused.
func TestLateReadersCannotStand(t *testing.T) {
	t.Parallel()
	for what, late := range map[string]struct {
		on    *script.Operation
		held  int
		begin func(t *testing.T, c *redlock.Client) *redlock.Lock
	}{
		"a straggler": {script.Share, 1, func(t *testing.T, c *redlock.Client) *redlock.Lock { return harness.MustTryRead(t, c, "job") }},
		"an attempt that failed": {script.Share, 2, func(t *testing.T, c *redlock.Client) *redlock.Lock {
			_, err := c.TryRLock(context.Background(), "job")
			harness.RequireErr(t, err, redlock.ErrNoQuorum)
			return nil
		}},
		"a downgrade": {script.Stay, 1, func(t *testing.T, c *redlock.Client) *redlock.Lock {
			lock := harness.MustTry(t, c, "job")
			harness.Must(t, lock.Downgrade(context.Background()))
			return lock
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d, proxies := harness.Proxied(t, 3)
			c, rival := harness.FaultClient(d), harness.FaultClient(d)
			var requests, releases []*faultproxy.Fault
			for _, p := range proxies[:late.held] {
				releases = append(releases, p.Add(harness.On(script.Undo, 1, faultproxy.Pass)))
				requests = append(requests, p.Add(harness.On(late.on, 1, faultproxy.HoldRequest)))
			}
			lock := late.begin(t, c)
			for _, r := range requests {
				harness.Within(t, "the request leaves", r.Seen())
			}
			if lock != nil {
				harness.Must(t, lock.Unlock(context.Background()))
			}
			for _, r := range releases {
				harness.Within(t, "the release is answered", r.Answered())
			}
			for _, r := range requests {
				r.Release()
				harness.Within(t, "the late one is answered", r.Answered())
			}
			if got := d.Holders("job"); got != "000" {
				t.Errorf("held on %s", got)
			}
			harness.UnlockAll(t, harness.MustTry(t, rival, "job"))
		})
	}
}

func TestLateRestoreCannotStand(t *testing.T) {
	t.Parallel()
	lateWriteBackCannotStand(t, script.Restore, harness.MustTryRead)
}
