package redlock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// One master of a deployment is dead, which is an ordinary day: all that can be known without it is told.

// A master that did not answer the acquire counts by what it renewed: a re-entry that learns the number of its
// grant there takes nothing back.
func TestAReEntryLearnsTheGrantThatWasNotAnswered(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached()
		d.masters[2].freeze()
		lock := mustTry(t, c, "job", WithTTL(10*time.Second))
		time.Sleep(1500 * time.Millisecond) // the request to it has timed out
		d.masters[2].thaw()
		time.Sleep(10 * time.Second)
		counted(t, lock, 0, 1, 2)
		d.masters[0].die()
		time.Sleep(20 * time.Second)
		counted(t, lock, 1, 2)
		for range 2 {
			again, err := c.TryLock(lock.Context(), "job")
			must(t, err)
			must(t, again.Unlock(background))
		}
		time.Sleep(20 * time.Second)
		must(t, context.Cause(lock.Context()))
		must(t, lock.Unlock(background))
	})
}

// A master that granted a lower number than the token, or came too late to be asked to confirm it, knows the token
// after the next renewal: so Verify and Inspect know the holder by any quorum.
func TestAHolderIsKnownByAnyQuorumOfItsMasters(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached()
		fence := script.KeysOf(limits.DefaultPrefix, "job", "").Fence
		for i := range 3 { // enough for the token to stand at once: the others are not asked to confirm it
			must(t, d.raw[i].IncrBy(background, fence, 100).Err())
		}
		d.masters[4].freeze()
		lock := mustTry(t, c, "job", WithTTL(9*time.Second))
		d.masters[4].thaw()
		time.Sleep(7 * time.Second) // two renewals
		counted(t, lock, 0, 1, 2, 3, 4)
		for i := range 2 {
			d.masters[i].die()
		}
		if v, err := c.Verify(background, "job", lock.Token()); v != VerifyValid {
			t.Errorf("a quorum has the lock, and its token is %v, %v", v, err)
		}
		for i, r := range d.raw[2:] {
			if l := lockOn(t, r, "job"); l.token != lock.Token().String() && l.grant != lock.Token().String() {
				t.Errorf("a quorum has the lock with token %v, and master %d has %v", lock.Token(), i+2, l)
			}
		}
		must(t, lock.Unlock(background))
	})
}

// A lock that was taken away with one of five dead is lost, whichever is dead and however old its last vote is, and its
// token is stale.
func TestALockIsTakenAwayWithOneMasterDead(t *testing.T) {
	t.Parallel()
	for name, learn := range map[string]func(c *Client, lock *Lock) error{
		"renewal": func(_ *Client, lock *Lock) error {
			<-lock.Context().Done()
			return context.Cause(lock.Context())
		},
		"extend":   func(_ *Client, lock *Lock) error { return lock.Extend(background, limits.DefaultTTL) },
		"re-entry": func(c *Client, lock *Lock) error { _, err := c.TryLock(lock.Context(), "job"); return err },
		"unlock":   func(_ *Client, lock *Lock) error { return lock.Unlock(background) },
	} {
		for dead := range 5 {
			for _, since := range []time.Duration{0, 2 * limits.DefaultTTL} { // its last vote counts yet, or lapsed
				t.Run(fmt.Sprint(name, "/", dead, "/", since), func(t *testing.T) {
					t.Parallel()
					inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
						holder, operator := d.reached(), d.reached()
						lock := mustTry(t, holder, "job")
						settled(t, holder)
						d.masters[dead].die()
						time.Sleep(since)
						mustForce(t, operator, "job", lock)
						if err := learn(holder, lock); !errors.Is(err, ErrLost) {
							t.Errorf("got %v, want ErrLost", err)
						}
						if name != "unlock" {
							requireErr(t, context.Cause(lock.Context()), ErrLost)
						}
						if v, err := operator.Verify(background, "job", lock.Token()); v != VerifyStale {
							t.Errorf("its token is %v, %v", v, err)
						}
						_ = lock.Unlock(background)
					})
				})
			}
		}
	}
}

// Of five masters one is dead, and its last vote has lapsed. The answers of two end the lease, before a third has said that
// the lock is another's: it did not end because its time ran out.
func TestALeaseThatNoesEndIsLost(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		c := d.reached()
		lock := mustTry(t, c, "job")
		settled(t, c)
		d.masters[4].die()
		time.Sleep(2 * limits.DefaultTTL)
		for i := range 2 {
			lock.h.Take(i, lease.ToExtend, testvotes.NotMine(c.now()), lock.h.Terms(), c.members.View())
		}
		within(t, "the holder is told", lock.Context().Done())
		requireErr(t, context.Cause(lock.Context()), ErrLost)
		requireErr(t, lock.Unlock(background), ErrLost)
	})
}
