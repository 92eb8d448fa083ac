package redlock

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// underMaxTTL returns a client that knows nothing of it, of a deployment with a max ttl of 10 s, and another one.
func underMaxTTL(d *deployment) (c, rival *Client) {
	d.client(WithMaxTTL(10 * time.Second)) // founds it
	return d.reached(), d.reached()
}

// No lease is longer than the deployment's max ttl, whichever way it came about: masters keep the lock for no longer, and a
// member that takes the place of another sits out no longer.
func TestNoLeaseIsLongerThanTheDeploymentAllows(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		way  string
		lock func(t *testing.T, c *Client) *Lock
	}{
		{"fresh", func(t *testing.T, c *Client) *Lock { return mustTry(t, c, "job", WithoutWatchdog()) }},
		{"entered again", func(t *testing.T, c *Client) *Lock {
			outer := mustTry(t, c, "job", WithoutWatchdog())
			inner, err := c.TryLock(outer.Context(), "job")
			must(t, err)
			return inner
		}},
		{"entered again for reading", func(t *testing.T, c *Client) *Lock {
			outer, err := c.TryRLock(background, "job", WithoutWatchdog())
			must(t, err)
			inner, err := c.TryRLock(outer.Context(), "job")
			must(t, err)
			return inner
		}},
		{"handed over", func(t *testing.T, c *Client) *Lock {
			before := mustTry(t, c, "job")
			got := goLock(t, c, "job", WithoutWatchdog())
			eventually(t, "it waits", func() bool { return c.queues.Waiting("job") == 1 })
			must(t, before.Unlock(background))
			return have(t, got)
		}},
		// What no check before has refused.
		{"extended", func(t *testing.T, c *Client) *Lock {
			lock := mustTry(t, c, "job", WithoutWatchdog())
			must(t, c.extendNow(background, lock.h, opExtend, 30*time.Second))
			return lock
		}},
		{"extended, and the masters keep it for longer than it is valid", func(t *testing.T, c *Client) *Lock {
			lock := mustTry(t, c, "job", WithoutWatchdog(), WithLockDelay(3*time.Second))
			must(t, c.extendNow(background, lock.h, opExtend, 30*time.Second))
			return lock
		}},
		{"repaired", func(t *testing.T, c *Client) *Lock {
			lock := mustTry(t, c, "job", WithoutWatchdog())
			settled(t, c)
			lock.h.Take(0, lease.ToExtend, testvotes.NotMine(c.now()), lock.h.Terms(), c.members.View())
			lock.h.Extend(c.members.View(), 30*time.Second)
			return lock
		}},
		{"prepared", func(t *testing.T, c *Client) *Lock {
			a := c.prepare(c.members.View(), "job", lockConfig{ttl: 30 * time.Second}, nowhere)
			a.h.Send(&a.asked, a.call)
			lock, err := c.conclude(background, a)
			must(t, err)
			return lock
		}},
	} {
		t.Run(x.way, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				c, rival := underMaxTTL(d)
				lock := x.lock(t, c)
				settled(t, c)
				for i, r := range d.raw {
					if left := r.PTTL(background, lock.h.Keys.Lock).Val(); left > 10*time.Second || left <= 0 {
						t.Errorf("master %d keeps it for %v", i, left)
					}
				}
				if left := time.Until(lock.Until()); left > 10*time.Second {
					t.Errorf("valid for %v", left)
				}
				_, err := rival.TryLock(background, "job")
				requireErr(t, err, ErrHeld)
				time.Sleep(10*time.Second + 100*time.Millisecond)
				if other, err := rival.TryLock(background, "job"); err == nil && lock.Valid() {
					t.Errorf("two holders: %v, valid for %v, and %v", lock, time.Until(lock.Until()), other)
				}
			})
		})
	}
}

// A ttl, or a time to stay taken, that the deployment does not allow is refused, also of a caller whose attempt
// another one would have handed over.
func TestWhatTheDeploymentDoesNotAllowIsRefused(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c, _ := underMaxTTL(d)
		lock := mustTry(t, c, "job", WithTTL(5*time.Second))
		ctx := lock.Context()
		requireErr(t, lock.Extend(background, 11*time.Second), ErrBadOption)
		for name, option := range map[string]LockOption{"ttl": WithTTL(11 * time.Second), "hold at least": WithHoldAtLeast(11 * time.Second)} {
			_, err := c.TryLock(background, "other", option)
			requireOptionError(t, err, name)
			_, err = c.TryLock(ctx, "job", option)
			requireOptionError(t, err, name)
			_, err = c.TryLockAll(background, []string{"a", "b"}, option)
			requireOptionError(t, err, name)
			_, err = c.LockAll(background, []string{"a", "b"}, option, WithWait(time.Minute))
			requireOptionError(t, err, name)

			before := mustTry(t, c, "handed over")
			refused := make(chan error, 1)
			go func() {
				_, err := c.Lock(background, "handed over", option)
				refused <- err
			}()
			eventually(t, "it waits", func() bool { return c.queues.Waiting("handed over") == 1 })
			must(t, before.Unlock(background))
			requireOptionError(t, <-refused, name)
			must(t, mustTry(t, c, "handed over").Unlock(background)) // nothing is left
		}
		_, err := c.TryLock(background, "other", WithTTL(8*time.Second), WithLockDelay(3*time.Second)) // masters would keep it for 11 s
		requireOptionError(t, err, "ttl")
		must(t, mustTry(t, c, "other", WithTTL(7*time.Second), WithLockDelay(3*time.Second)).Unlock(background))
		must(t, lock.Unlock(background))
	})
}
