package admin_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// One of five members hangs, and some of the others refuse a call for its version. The call does
// not wait for the hung member once the members that refused can vote.
func TestARefusalForTheVersionBesideAHungMember(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim  string
		happen func(d *harness.Deployment, c *redlock.Client)
		within time.Duration
	}{
		{"two are ahead: they have accepted a change, which nobody finishes", func(d *harness.Deployment, c *redlock.Client) { halfSuspend(d, c, 2) }, 450 * time.Millisecond},
		{"two are behind", func(d *harness.Deployment, _ *redlock.Client) {
			for _, r := range d.Raw[:2] {
				harness.Must(d.T, r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "version", "0", "votes", "0", "promised", "0").Err())
			}
		}, 50 * time.Millisecond},
	} {
		for what, ask := range map[string]func(c *redlock.Client, held *redlock.Lock) error{
			"TryLock": func(c *redlock.Client, _ *redlock.Lock) error {
				return unlocked(c.TryLock(context.Background(), "job"))
			},
			"Extend": func(_ *redlock.Client, held *redlock.Lock) error {
				return held.Extend(context.Background(), limits.DefaultTTL)
			},
		} {
			harness.RunInVirtualTime(t, x.claim+": "+what, 5, func(t *testing.T, d *harness.Deployment) {
				c := d.Reached(redlock.WithRequestTimeout(500 * time.Millisecond))
				held := harness.MustTry(t, c, "held")
				harness.Settled(t, c)
				x.happen(d, c)
				d.Masters[4].Freeze()
				defer d.Masters[4].Thaw()
				begin := time.Now()
				if err := ask(c, held); err != nil {
					t.Error(err)
				}
				if took := time.Since(begin); took > x.within {
					t.Errorf("it took %v", took)
				}
			})
		}
	}
}

// unlocked unlocks what was locked.
func unlocked(lock *redlock.Lock, err error) error {
	if err != nil {
		return err
	}
	return lock.Unlock(context.Background())
}
