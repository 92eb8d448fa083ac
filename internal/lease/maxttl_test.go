package lease_test

import (
	"context"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// underMaxTTL returns two clients that do not set the deployment's max ttl, which is 10 s.
func underMaxTTL(d *harness.Deployment) (c, rival *redlock.Client) {
	d.Client(redlock.WithMaxTTL(10 * time.Second)) // founds the deployment
	return d.Reached(), d.Reached()
}

// No lease is longer than the deployment's max ttl: masters keep a lock no longer, and a new member waits no longer
// before it votes.
func TestMaxTTLBoundsLeases(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		way  string
		lock func(t *testing.T, c *redlock.Client) *redlock.Lock
	}{
		{"fresh", func(t *testing.T, c *redlock.Client) *redlock.Lock {
			return harness.MustTry(t, c, "job", redlock.WithoutWatchdog())
		}},
		{"entered again", func(t *testing.T, c *redlock.Client) *redlock.Lock {
			outer := harness.MustTry(t, c, "job", redlock.WithoutWatchdog())
			inner, err := c.TryLock(outer.Context(), "job")
			harness.Must(t, err)
			return inner
		}},
		{"entered again for reading", func(t *testing.T, c *redlock.Client) *redlock.Lock {
			outer, err := c.TryRLock(context.Background(), "job", redlock.WithoutWatchdog())
			harness.Must(t, err)
			inner, err := c.TryRLock(outer.Context(), "job")
			harness.Must(t, err)
			return inner
		}},
		{"handed over", func(t *testing.T, c *redlock.Client) *redlock.Lock {
			before := harness.MustTry(t, c, "job")
			got := harness.GoLock(t, c, "job", redlock.WithoutWatchdog())
			harness.Eventually(t, "it waits", func() bool { return harness.Waiting(c, "job") == 1 })
			harness.Must(t, before.Unlock(context.Background()))
			return harness.Have(t, got)
		}},
		// An extension that bypasses the check of the ttl.
		{"extended", func(t *testing.T, c *redlock.Client) *redlock.Lock {
			lock := harness.MustTry(t, c, "job", redlock.WithoutWatchdog())
			extendNow(t, c, lock, 30*time.Second)
			return lock
		}},
		{"extended, and the masters keep it for longer than it is valid", func(t *testing.T, c *redlock.Client) *redlock.Lock {
			lock := harness.MustTry(t, c, "job", redlock.WithoutWatchdog(), redlock.WithLockDelay(3*time.Second))
			extendNow(t, c, lock, 30*time.Second)
			return lock
		}},
		{"repaired", func(t *testing.T, c *redlock.Client) *redlock.Lock {
			lock := harness.MustTry(t, c, "job", redlock.WithoutWatchdog())
			harness.Settled(t, c)
			harness.Hold(lock).Take(0, lease.ToExtend, testvotes.NotMine(harness.Inside(c).Now()), harness.Hold(lock).Terms(), harness.Inside(c).Members.View())
			harness.Hold(lock).Extend(harness.Inside(c).Members.View(), 30*time.Second)
			return lock
		}},
	} {
		harness.RunInVirtualTime(t, x.way, 3, func(t *testing.T, d *harness.Deployment) {
			c, rival := underMaxTTL(d)
			lock := x.lock(t, c)
			harness.Settled(t, c)
			for i, r := range d.Raw {
				if left := r.PTTL(context.Background(), harness.Hold(lock).Keys.Lock).Val(); left > 10*time.Second || left <= 0 {
					t.Errorf("master %d keeps it for %v", i, left)
				}
			}
			if left := time.Until(lock.Until()); left > 10*time.Second {
				t.Errorf("valid for %v", left)
			}
			_, err := rival.TryLock(context.Background(), "job")
			harness.RequireErr(t, err, redlock.ErrHeld)
			time.Sleep(10*time.Second + 100*time.Millisecond)
			if other, err := rival.TryLock(context.Background(), "job"); err == nil && lock.Valid() {
				t.Errorf("two holders: %v, valid for %v, and %v", lock, time.Until(lock.Until()), other)
			}
		})
	}
}

// A ttl or linger time above the deployment's max ttl is refused, even for a handed-over attempt.
func TestTTLAboveMaxIsRefused(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c, _ := underMaxTTL(d)
		lock := harness.MustTry(t, c, "job", redlock.WithTTL(5*time.Second))
		ctx := lock.Context()
		harness.RequireErr(t, lock.Extend(context.Background(), 11*time.Second), redlock.ErrBadOption)
		for name, option := range map[string]redlock.LockOption{"ttl": redlock.WithTTL(11 * time.Second), "hold at least": redlock.WithHoldAtLeast(11 * time.Second)} {
			_, err := c.TryLock(context.Background(), "other", option)
			harness.RequireOptionError(t, err, name)
			_, err = c.TryLock(ctx, "job", option)
			harness.RequireOptionError(t, err, name)
			_, err = c.TryLockAll(context.Background(), []string{"a", "b"}, option)
			harness.RequireOptionError(t, err, name)
			began := time.Now()
			_, err = c.LockAll(context.Background(), []string{"a", "b"}, option, redlock.WithWait(time.Minute))
			harness.RequireOptionError(t, err, name)
			if waited := time.Since(began); waited > time.Second {
				t.Errorf("%s: it was refused after %v", name, waited)
			}

			before := harness.MustTry(t, c, "handed over")
			refused := make(chan error, 1)
			go func() {
				_, err := c.Lock(context.Background(), "handed over", option)
				refused <- err
			}()
			harness.Eventually(t, "it waits", func() bool { return harness.Waiting(c, "handed over") == 1 })
			harness.Must(t, before.Unlock(context.Background()))
			harness.RequireOptionError(t, <-refused, name)
			harness.Must(t, harness.MustTry(t, c, "handed over").Unlock(context.Background())) // nothing is left
		}
		_, err := c.TryLock(context.Background(), "other", redlock.WithTTL(8*time.Second), redlock.WithLockDelay(3*time.Second)) // masters would keep it for 11 s
		harness.RequireOptionError(t, err, "ttl")
		harness.Must(t, harness.MustTry(t, c, "other", redlock.WithTTL(7*time.Second), redlock.WithLockDelay(3*time.Second)).Unlock(context.Background()))
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// extendNow extends a lease without any check of the ttl.
func extendNow(t *testing.T, c *redlock.Client, lock *redlock.Lock, ttl time.Duration) {
	in := harness.Inside(c)
	r := harness.Hold(lock).Extend(in.Members.View(), ttl)
	harness.Must(t, in.Await(context.Background(), r, in.Deadline()))
	if !r.Won() {
		t.Error("it is not extended")
	}
	harness.Must(t, harness.Hold(lock).Extended(r.View, ttl))
}
