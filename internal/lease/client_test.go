package lease_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// LEASE (spec/exclusion.pml): an answer after the end of the lease does not revive it, whether or not the hold's timer
// has fired. Because of the lock delay, the masters still have the lock. So the test depends on this rule only.
func TestLateAnswerRevivesNothing(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func(d *harness.Deployment, c *redlock.Client, lock *redlock.Lock) error{
		"extend": func(d *harness.Deployment, c *redlock.Client, lock *redlock.Lock) error {
			now := harness.Inside(c).Now()
			for i := range 3 {
				expiry := harness.Hold(lock).Master(i).Expiry
				harness.Hold(lock).Take(i, lease.ToExtend, script.Vote{Answered: true, Answer: script.Granted, Sent: now, Got: now, Remaining: expiry.Lo.Sub(now)}, harness.Hold(lock).Terms(), harness.Inside(c).Members.View())
			}
			return harness.Hold(lock).Over()
		},
		"re-entry": func(d *harness.Deployment, c *redlock.Client, lock *redlock.Lock) error {
			_, err := c.TryLock(lock.Context(), "job")
			return err
		},
	} {
		harness.RunInVirtualTime(t, name, 3, func(t *testing.T, d *harness.Deployment) {
			c := d.Reached()
			lock := harness.MustTry(t, c, "job", redlock.WithTTL(10*time.Second), redlock.WithLockDelay(45*time.Second), redlock.WithoutWatchdog())
			synctest.Wait()                      // all masters have voted
			d.Slept.Add(int64(20 * time.Second)) // the timer has not fired
			err := late(d, c, lock)
			if lock.Valid() {
				t.Errorf("a lease that was over is valid again (%v)", err)
			}
			harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
		})
	}
}

// If a request is sent twice, the lease counts from the first time. Until reports no later end.
func TestLeaseCountsFromFirstSend(t *testing.T) {
	harness.InVirtualTime(t, 1, func(t *testing.T, d *harness.Deployment) {
		var broken atomic.Bool
		d.Masters[0] = brokenMaster{d.Masters[0], d, &broken}
		c := d.Client(redlock.WithTTL(10*time.Second), redlock.WithoutWatchdog())
		harness.Must(t, harness.MustTry(t, c, "reaching").Unlock(context.Background()))
		synctest.Wait()
		broken.Store(true)
		start, sentAt := harness.Inside(c).Now(), time.Now()
		lock := harness.MustTry(t, c, "job")
		if harness.Inside(c).Now().Sub(start) < time.Second {
			t.Fatal("the connection did not break")
		}
		want := harness.Hold(lock).Terms().ValidUntil(start)
		if got := harness.Hold(lock).Until(); got != want {
			t.Errorf("the lease is %v too long", got.Sub(want))
		}
		// The client's clock is a second ahead of time.Now.
		if got, want := lock.Until(), sentAt.Add(want.Sub(start)-time.Second); !got.Equal(want) {
			t.Errorf("Until is %v too late", got.Sub(want))
		}
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// brokenMaster loses one reply, because its connection breaks after a second.
type brokenMaster struct {
	harness.Master
	d      *harness.Deployment
	broken *atomic.Bool
}

func (m brokenMaster) Options() *redis.Options {
	return harness.Wrapped(m.Master, func(conn net.Conn) net.Conn { return brokenConn{conn, m} })
}

type brokenConn struct {
	net.Conn
	master brokenMaster
}

func (c brokenConn) Read(p []byte) (int, error) {
	if c.master.broken.Swap(false) {
		c.master.d.Slept.Add(int64(time.Second))
		return 0, io.EOF
	}
	return c.Conn.Read(p)
}

// A re-entry does not count on a master where the lock has expired, and then a late copy of the owner's
// acquire was granted. A rival may have held the lock in between, and another copy may still come.
func TestReentryChecksGrant(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		for granted, want := range map[int]error{1: nil, 2: redlock.ErrNotAcquired} {
			name := fmt.Sprint("job ", granted)
			lock := harness.MustTry(t, c, name, redlock.WithoutWatchdog())
			synctest.Wait() // all masters have voted
			for i := range granted {
				other := harness.LockOn(t, d.Raw[i], name)
				other.Grant = fmt.Sprint(lock.Token() + 1)
				harness.Must(t, d.Raw[i].Set(context.Background(), harness.Hold(lock).Keys.Lock, other.String(), redis.KeepTTL).Err())
			}
			inner, err := c.TryLock(lock.Context(), name)
			if !errors.Is(err, want) {
				t.Errorf("granted again on %d of 3: got %v, want %v", granted, err, want)
			}
			if err == nil {
				harness.Must(t, inner.Unlock(context.Background()))
				harness.Must(t, lock.Unlock(context.Background()))
			}
			harness.Settled(t, c)
			for i, r := range d.Raw { // another copy may come
				if marked := r.Exists(context.Background(), harness.Hold(lock).Keys.Gone).Val() == 1; marked != (i < granted) {
					t.Errorf("granted again on %d of 3: the release leaves a mark on master %d: %v", granted, i, marked)
				}
			}
		}
	})
}

// The context ends as soon as answers "not yours" leave no quorum, and not only at the next renewal. It does not
// end while a quorum is left.
func TestContextEndsWithoutQuorum(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		lock := harness.MustTry(t, c, "job", redlock.WithTTL(9*time.Second))
		synctest.Wait() // all masters have voted
		disown := func(master int) {
			time.Sleep(time.Millisecond)
			now := harness.Inside(c).Now()
			harness.Hold(lock).Take(master, lease.ToExtend, testvotes.NotMine(now), harness.Hold(lock).Terms(), harness.Inside(c).Members.View())
			synctest.Wait()
		}
		disown(0)
		harness.Must(t, context.Cause(lock.Context()))
		disown(1)
		if cause := context.Cause(lock.Context()); cause != redlock.ErrLost {
			t.Errorf("two of three are \"not mine\", and the context has ended with %v", cause)
		}
		if over := time.Since(lock.Until()); over != 0 {
			t.Errorf("the lease was over %v ago, want now", over)
		}
	})
}

// The timers of a set's names fire together: the first timer renews all names, and the others renew none. A failed
// request is retried a twelfth of the ttl later, and counts for the same renewal.
func TestSetIsRenewedTogether(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		const ttl = 24 * time.Second
		var renewed harness.Recorder
		c := d.Reached(redlock.WithTTL(ttl), redlock.WithObserver(redlock.Observer{Renewed: func(_ context.Context, r redlock.Renewal) { renewed.Note("%s", r.Name) }}))
		names := []string{"a", "b", "c"}
		locks := harness.MustAll(t, c, names)
		harness.Settled(t, c)
		began := harness.Inside(c).Now().Add(ttl / 10)
		for _, x := range []struct {
			after time.Duration
			want  int // of each name, so far
		}{
			{0, 1}, {0, 1}, {1, 1}, {ttl/24 - 1, 1}, {ttl / 24, 2}, {ttl / 24, 2}, {ttl/12 - 1, 2}, {ttl / 12, 3},
		} {
			lease.RenewSet(harness.Holds(locks)[0], began.Add(x.after), ttl/(2*lease.RenewRetries))
			harness.Settled(t, c)
			synctest.Wait()
			for _, name := range names {
				if got := renewed.Count(name); got != x.want {
					t.Errorf("%v after the first: %s was renewed %d times, want %d", x.after, name, got, x.want)
				}
			}
		}
		harness.Must(t, locks.Unlock(context.Background()))
	})
}
