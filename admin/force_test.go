package admin_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
)

// ForceUnlock takes the lock from the inspected holders only, not from later ones. It takes the lock from a writer,
// from readers, and from a lock that lingers, even if the lock did not linger yet at the inspection.
func TestForceUnlockTakesInspectedHolders(t *testing.T) {
	onBoth(t, 5, func(t *testing.T, d *harness.Deployment) {
		old, operator := d.Reached(), d.Reached()
		lock := func() *redlock.Lock { return harness.MustTry(t, old, "job", redlock.WithoutWatchdog()) }
		read := func() *redlock.Lock {
			lock := harness.MustTryRead(t, old, "job", redlock.WithoutWatchdog())
			return lock
		}
		lingers := func() *redlock.Lock { return harness.MustTry(t, old, "job", redlock.WithHoldAtLeast(30*time.Second)) }
		for _, x := range []struct {
			claim               string
			has                 []func() *redlock.Lock
			leftBefore, leftNow bool
		}{
			{"a holder", []func() *redlock.Lock{lock}, false, false},
			{"readers", []func() *redlock.Lock{read, read}, false, false},
			{"one that left", []func() *redlock.Lock{lingers}, true, false},
			{"one that leaves", []func() *redlock.Lock{lingers}, false, true},
		} {
			leave := func(locks []*redlock.Lock) {
				for _, l := range locks {
					harness.Must(t, l.Unlock(background))
				}
				harness.Settled(t, old)
			}
			locked := func() (locks []*redlock.Lock) {
				for _, one := range x.has {
					locks = append(locks, one())
				}
				harness.Settled(t, old)
				return locks
			}
			first := locked()
			if x.leftBefore {
				leave(first)
			}
			shown := inspect(t, operator, "job")
			if x.leftNow {
				leave(first)
			}
			token, err := admin.ForceUnlock(background, operator, shown)
			harness.Must(t, err)
			for _, l := range first {
				if token <= l.LastToken() {
					t.Errorf("%s: token %v after %v", x.claim, token, l.LastToken())
				}
				if !x.leftBefore && !x.leftNow {
					harness.RequireErr(t, l.Extend(background, 5*time.Second), redlock.ErrLost)
				}
			}
			harness.RequireFree(t, d, "job")

			later := locked()
			harness.RequireErr(t, harness.ErrOf(admin.ForceUnlock(background, operator, shown)), redlock.ErrHeld)
			for _, l := range later {
				harness.Must(t, l.Extend(background, 20*time.Second))
			}
			leave(later)
			if x.leftBefore || x.leftNow {
				if _, err := admin.ForceUnlock(background, operator, inspect(t, operator, "job")); err != nil {
					t.Fatal(err)
				}
			}
			harness.RequireFree(t, d, "job")
		}
	})
}

// If a holder has no more than a quorum, and one master of this quorum does not answer, no majority names the holder.
func TestForceUnlockWithoutKnownHolder(t *testing.T) {
	onBoth(t, 5, func(t *testing.T, d *harness.Deployment) {
		old, operator := d.Reached(), d.Reached()
		lock := harness.MustTry(t, old, "job", redlock.WithoutWatchdog())
		harness.Settled(t, old)
		for _, r := range d.Raw[3:] {
			harness.Must(t, r.Del(background, lockKey("job")).Err())
		}
		d.Masters[0].Die()
		shown := inspect(t, operator, "job")
		if shown.Quorum.State != admin.LockUnknown {
			t.Fatalf("the quorum has %+v", shown.Quorum)
		}
		token, err := admin.ForceUnlock(background, operator, shown)
		harness.Must(t, err)
		if token <= lock.Token() {
			t.Errorf("token %v after %v", token, lock.Token())
		}
		d.Masters[0].Revive()
		harness.Settled(t, old)
		harness.RequireErr(t, lock.Extend(background, 5*time.Second), redlock.ErrLost)
	})
}

// If the inspection shows nobody, only the token rises. If too few masters answer, the error has Op "force unlock".
func TestForceUnlockOfFreeLock(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		shown := inspect(t, c, "job")
		one, err := admin.ForceUnlock(background, c, shown)
		harness.Must(t, err)
		other, err := admin.ForceUnlock(background, c, shown)
		harness.Must(t, err)
		if other <= one {
			t.Errorf("token %v after %v", other, one)
		}
		shown.Quorum.Readers = slices.Repeat([]admin.ReaderView{{Owner: "c.1"}}, 2)
		d.Masters[0].Die()
		d.Masters[1].Die()
		_, err = admin.ForceUnlock(background, c, shown)
		harness.RequireErr(t, err, redlock.ErrNoQuorum)
		if q, _ := errors.AsType[*redlock.QuorumError](err); q.Op != "force unlock" || len(q.Votes) != 3 {
			t.Error(err)
		}
	})
}
