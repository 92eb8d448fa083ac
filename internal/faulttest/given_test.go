package faulttest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// A handed-over hold has a short lease until its first renewal. This renewal comes so early that the hold survives a
// later outage.
func TestHandedOverHoldOutlivesOutage(t *testing.T) {
	t.Parallel()
	const ttl = 30 * time.Second
	for _, x := range []struct {
		claim  string
		given  bool          // a release granted the lock; false: an acquire did
		after  time.Duration // how long after the grant the outage begins
		lasts  time.Duration
		renews int // how many renewals there are before the outage
		ends   error
	}{
		{"acquired, the outage begins at once", false, 0, ttl / 2, 0, nil},
		{"given, the outage begins at once, and is short", true, 0, quorum.LongestGiven / 2, 0, nil},
		{"given, the outage begins at once", true, 0, 2 * quorum.LongestGiven, 0, redlock.ErrExpired},
		{"given, the outage begins just before the renewal", true, lease.RenewGiven - time.Millisecond, 2 * quorum.LongestGiven, 0, redlock.ErrExpired},
		{"given, the outage begins after the renewal", true, lease.RenewGiven + time.Millisecond, ttl / 2, 1, nil},
		{"given, the outage is longer than the ttl", true, lease.RenewGiven + time.Millisecond, 2 * ttl, 1, redlock.ErrExpired},
	} {
		harness.RunInVirtualTime(t, x.claim, 3, func(t *testing.T, d *harness.Deployment) {
			var renewed harness.Recorder
			a, b := d.Reached(), d.Reached(redlock.WithTTL(ttl), redlock.WithObserver(redlock.Observer{
				Renewed: func(_ context.Context, r redlock.Renewal) { renewed.Note("%s", r.Name) },
			}))
			var lock *redlock.Lock
			if x.given {
				held := harness.MustTry(t, a, "job")
				got := harness.GoLock(t, b, "job")
				d.InLine("job", 1)
				harness.Must(t, held.Unlock(context.Background()))
				lock = harness.Have(t, got)
			} else {
				lock = harness.MustTry(t, b, "job")
			}
			if left, _ := harness.Hold(lock).Left(); (left < quorum.LongestGiven) != x.given {
				t.Fatalf("it is proved for %v, and by a release: %v", left, x.given)
			}
			time.Sleep(x.after)
			if n := renewed.Count("job"); n != x.renews {
				t.Errorf("%v after the grant it was renewed %d times, want %d", x.after, n, x.renews)
			}
			harness.All(d.Masters, harness.Master.Freeze)
			time.Sleep(x.lasts)
			harness.All(d.Masters, harness.Master.Thaw)
			if cause := context.Cause(lock.Context()); cause != x.ends || lock.Valid() != (x.ends == nil) {
				t.Errorf("after an outage of %v it is valid: %v, and its context ended with %v, want %v", x.lasts, lock.Valid(), cause, x.ends)
			}
			if err := lock.Unlock(context.Background()); err != x.ends {
				t.Errorf("its Unlock returns %v, want %v", err, x.ends)
			}
		})
	}
}

// A waiter undoes an early grant, and gets the lock. The undo is lost, and its repetition frees the lock on its master
// after a renewal. So the master must not count for the renewal.
func TestUndoneGrantHasNoVote(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c := harness.FaultClient(d)
	lock := harness.MustTry(t, c, "job", redlock.WithoutWatchdog())
	harness.Counted(t, c, lock, 0, 1, 2)
	hold := harness.Hold(lock)
	before := hold.Master(2).Until
	undo := proxies[2].Add(harness.On(script.Undo, 1, faultproxy.DropRequest))
	lease.Acquisition{Hold: hold}.Undo(2, lease.Place{})
	harness.Within(t, "the undo is lost", undo.Seen())
	harness.Must(t, lock.Extend(context.Background(), harness.FaultTTL))
	harness.RequireHolders(t, d, "110", "job")
	if until := hold.Master(2).Until; until > before {
		t.Errorf("master 2 has no lock, and counts until %v, which is later than %v", until, before)
	}
	harness.Must(t, lock.Unlock(context.Background()))
}

// An abandoned wait leaves no mark, no offer and no place in a queue.
func TestAbandonedWaitLeavesNothing(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		held := harness.MustTry(t, a, "job")
		waits := make(chan error)
		go func() { waits <- harness.ErrOf(b.Lock(context.Background(), "job", redlock.WithWait(time.Second))) }()
		d.InLine("job", 1) // from now on the masters can call b
		for range 20 {
			_, err := b.Lock(context.Background(), "job", redlock.WithWait(3*time.Millisecond))
			harness.RequireErr(t, err, redlock.ErrNotAcquired)
		}
		left := func() (all []string) {
			harness.Settled(t, b)
			for _, r := range d.Raw {
				for _, kind := range []string{"*gone:*", "*offer:*", "*queue:*"} {
					all = append(all, r.Keys(context.Background(), kind).Val()...)
				}
			}
			return all
		}
		if all := left(); len(all) != 2*len(d.Raw) {
			t.Errorf("while one waits there are %q", all)
		}
		harness.RequireErr(t, <-waits, redlock.ErrHeld)
		for range 20 {
			_, err := b.Lock(context.Background(), "job", redlock.WithWait(3*time.Millisecond))
			harness.RequireErr(t, err, redlock.ErrHeld)
		}
		if all := left(); len(all) > 0 {
			t.Errorf("nobody waits, and there are %q", all)
		}
		harness.Must(t, held.Unlock(context.Background()))
	})
}

// Masters cannot detect that waiters are stopped: they grant the lock to one stopped waiter, and call the others in
// turn. The first live waiter does not wait for a call, so k stopped waiters delay it by at most k + 1 seconds.
func TestStoppedWaiters(t *testing.T) {
	t.Parallel()
	for _, k := range []int{0, 1, 2, 5} {
		harness.RunInVirtualTime(t, fmt.Sprint(k), 3, func(t *testing.T, d *harness.Deployment) {
			a, b := d.Reached(), d.Reached()
			held := harness.MustTry(t, a, "job")
			for i := range k {
				owner, channel := fmt.Sprint("stopped", i), fmt.Sprint("redlock:waits:stopped", i)
				o := &lease.Owner{ID: owner, Keys: script.KeysOf(limits.DefaultPrefix, "job", owner)}
				in := lease.Place{Channel: &channel, Ticket: waitqueue.TicketOf(fmt.Sprint(500000000000000 + int64(i))), Takes: quorum.LongestGiven}
				for _, r := range d.Raw {
					_, err := harness.CallIn(r, o.AcquireCall(quorum.TermsOf(30*time.Second, 0, 0), in))
					harness.Must(t, err)
					s := r.Subscribe(context.Background(), channel)
					defer s.Close()
					harness.Must(t, harness.ErrOf(s.Receive(context.Background())))
				}
			}
			got := harness.GoLock(t, b, "job")
			d.InLine("job", int64(k)+1)
			time.Sleep(300 * time.Millisecond)
			start := time.Now()
			harness.Must(t, held.Unlock(context.Background()))
			lock := harness.Have(t, got)
			if took, most := time.Since(start), time.Duration(k+1)*time.Second; took > most {
				t.Errorf("behind %d it has the lock after %v, want %v at most", k, took, most)
			}
			harness.Must(t, lock.Unlock(context.Background()))
		})
	}
}

// If a master's grant number is below the token, the next renewal brings the token to this master. So Verify
// and Inspect find the holder by any quorum.
func TestHolderIsKnownToAnyQuorum(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		fence := script.KeysOf(limits.DefaultPrefix, "job", "").Fence
		for i := range 3 { // enough for a token at once, so that the other masters are not asked to confirm it
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

// ForceUnlock takes a lock while one of five masters is dead. Whichever master is dead, the holder loses the lock, and
// its token is stale.
func TestForceUnlockWithOneMasterDown(t *testing.T) {
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
			for _, since := range []time.Duration{0, 2 * limits.DefaultTTL} { // the last vote of the dead master still counts, or has lapsed
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
