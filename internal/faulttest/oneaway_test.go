package faulttest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// One master of a deployment is dead, which is an ordinary day: everything that can be known without it
// is reported.

// A master that granted a lower number than the token, or came too late to be asked to confirm it,
// has the token after the next renewal: so Verify and Inspect find the holder by any quorum.
func TestAHolderIsKnownByAnyQuorumOfItsMasters(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		fence := script.KeysOf(limits.DefaultPrefix, "job", "").Fence
		for i := range 3 { // enough for a token at once: the others are not asked to confirm it
			harness.Must(t, d.Raw[i].IncrBy(context.Background(), fence, 100).Err())
		}
		d.Masters[4].Freeze()
		lock := harness.MustTry(t, c, "job", redlock.WithTTL(9*time.Second))
		d.Masters[4].Thaw()
		time.Sleep(7 * time.Second) // two renewals
		harness.Counted(t, c, lock, 0, 1, 2, 3, 4)
		for i := range 2 {
			d.Masters[i].Die()
		}
		if v, err := c.Verify(context.Background(), "job", lock.Token()); v != redlock.VerifyValid {
			t.Errorf("a quorum has the lock, and its token is %v, %v", v, err)
		}
		for i, r := range d.Raw[2:] {
			if l := harness.LockOn(t, r, "job"); l.Token != lock.Token().String() && l.Grant != lock.Token().String() {
				t.Errorf("a quorum has the lock with token %v, and master %d has %v", lock.Token(), i+2, l)
			}
		}
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// A lock that was taken away with one of five dead is lost, whichever is dead and however old its
// last vote is, and its token is stale.
func TestALockIsTakenAwayWithOneMasterDead(t *testing.T) {
	t.Parallel()
	for name, learn := range map[string]func(c *redlock.Client, lock *redlock.Lock) error{
		"renewal": func(_ *redlock.Client, lock *redlock.Lock) error {
			<-lock.Context().Done()
			return context.Cause(lock.Context())
		},
		"extend": func(_ *redlock.Client, lock *redlock.Lock) error {
			return lock.Extend(context.Background(), limits.DefaultTTL)
		},
		"re-entry": func(c *redlock.Client, lock *redlock.Lock) error {
			_, err := c.TryLock(lock.Context(), "job")
			return err
		},
		"unlock": func(_ *redlock.Client, lock *redlock.Lock) error { return lock.Unlock(context.Background()) },
	} {
		for dead := range 5 {
			for _, since := range []time.Duration{0, 2 * limits.DefaultTTL} { // its last vote counts yet, or lapsed
				harness.RunInVirtualTime(t, fmt.Sprint(name, "/", dead, "/", since), 5, func(t *testing.T, d *harness.Deployment) {
					holder, operator := d.Reached(), d.Reached()
					lock := harness.MustTry(t, holder, "job")
					harness.Settled(t, holder)
					d.Masters[dead].Die()
					time.Sleep(since)
					harness.MustForce(t, operator, "job", lock)
					if err := learn(holder, lock); !errors.Is(err, redlock.ErrLost) {
						t.Errorf("got %v, want ErrLost", err)
					}
					if name != "unlock" {
						harness.RequireErr(t, context.Cause(lock.Context()), redlock.ErrLost)
					}
					if v, err := operator.Verify(context.Background(), "job", lock.Token()); v != redlock.VerifyStale {
						t.Errorf("its token is %v, %v", v, err)
					}
					_ = lock.Unlock(context.Background())
				})
			}
		}
	}
}
