package admin_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// Why a server cannot be asked comes through, in a lock's error and in Init's.
func TestWhyAMasterCannotBeFounded(t *testing.T) {
	t.Parallel()
	for cause, spoil := range map[string]func(r *redis.Client) error{
		"NOPERM": func(r *redis.Client) error {
			return r.Do(context.Background(), "acl", "setuser", "default", "-eval", "-evalsha").Err()
		},
		"another type": func(r *redis.Client) error {
			return r.Set(context.Background(), script.RegisterKey(limits.DefaultPrefix), "words", 0).Err()
		},
		"keys are of format": func(r *redis.Client) error {
			return r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "deployment", "d", "id", "one", "version", "1", "table", `{"format":"7"}`).Err()
		},
		"cannot be read": func(r *redis.Client) error {
			return r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "deployment", "d", "id", "one", "version", "1", "table", "words").Err()
		},
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			d := harness.Processes(t, 3, redisproc.Config{})
			harness.Must(t, spoil(d.Raw[1]))
			c := d.Stranger(harness.RecoveryOptions()...)
			harness.RequireErr(t, harness.MustFail(t, c, "job"), redlock.ErrNoQuorum)
			err := harness.Found(context.Background(), c, 0)
			if !strings.Contains(fmt.Sprint(err), cause) || !strings.Contains(err.Error(), d.Raw[1].Options().Addr) {
				t.Errorf("Init: %v", err)
			}
			if cause != "NOPERM" {
				harness.Must(t, harness.FoundAnew(context.Background(), c, 0))
				harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			}
		})
	}
}

// An Init whose process dies at any message is finished by the next one.
func TestAnInitThatDiesIsFinished(t *testing.T) {
	t.Parallel()
	died := 0
	for at := 0; at < 144; at += 4 {
		t.Run(fmt.Sprint("at message ", at), func(t *testing.T) {
			harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
				dying := d.Mortal(at, harness.RecoveryOptions()...)
				err := harness.Found(context.Background(), dying, 0)
				if err != nil {
					died++
				}
				harness.Must(t, dying.Close())
				c := d.Stranger(harness.RecoveryOptions()...)
				harness.Must(t, harness.Found(context.Background(), c, 0))
				harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
				one := d.Register(0)
				for i := range d.Masters {
					if is := d.Register(i); is["version"] != one["version"] || is["deployment"] != one["deployment"] || is["votes"] == "" || is["claim"] != "" {
						t.Errorf("after %v: %v", err, is)
					}
				}
			})
		})
	}
	if died < 10 || died == 36 {
		t.Errorf("%d of 36 died", died)
	}
}

// Two Inits at once found one deployment, or none; one more finishes.
func TestTwoInitsAtOnce(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { _ = harness.Found(context.Background(), d.Stranger(harness.RecoveryOptions()...), 0) })
		}
		both.Wait()
		c := d.Stranger(harness.RecoveryOptions()...)
		harness.Must(t, harness.Found(context.Background(), c, 0))
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		for i := range d.Masters {
			if is, one := d.Register(i), d.Register(0); is["version"] != one["version"] || is["deployment"] != one["deployment"] {
				t.Errorf("%v and %v", is, one)
			}
		}
	})
}

// Servers that were to become members of a deployment whose members lost their data do not keep a
// client from the one that was founded in its place, though they are as many as its quorum.
func TestForceInitBesideServersThatWereToJoin(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...), 0))
		c := d.Stranger(harness.RecoveryOptions()...)
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		for i := 3; i < 5; i++ {
			run := membership.ParseInfo(d.Raw[i].Info(context.Background()).Val())["run_id"]
			harness.Must(t, d.Raw[i].HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "deployment", d.Register(0)["deployment"], "id", fmt.Sprint("new ", i), "run", run).Err())
		}
		for i := range 3 {
			lost := d.Masters[i].(harness.EmbeddedMaster)
			lost.Kill(true)
			harness.Must(t, lost.Restart())
		}
		harness.Must(t, harness.FoundAnew(context.Background(), harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...), 0))
		lock, err := c.Lock(context.Background(), "job", redlock.WithWait(harness.Patience))
		harness.Must(t, err)
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// Nor does a former member, which was away when it was replaced, and has the table of then.
func TestForceInitBesideAFormerMember(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...), 0))
		c := d.Stranger(harness.RecoveryOptions()...)
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		d.Masters[0].Die()
		harness.Must(t, harness.ChangeMembers(context.Background(), c, harness.ReplaceMember(d.Address(0), d.Address(3)), nil))
		d.Masters[0].Revive()
		for i := 1; i < 3; i++ {
			lost := d.Masters[i].(harness.EmbeddedMaster)
			lost.Kill(true)
			harness.Must(t, lost.Restart())
		}
		anew := []*redis.Client{d.Raw[1], d.Raw[2], d.Raw[4]}
		harness.Must(t, harness.FoundAnew(context.Background(), harness.ClientOn(t, anew, d.InTime(harness.RecoveryOptions()...)...), 0))
		lock, err := c.Lock(context.Background(), "job", redlock.WithWait(harness.Patience))
		harness.Must(t, err)
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// A client stays with its deployment as long as that may live, though its list has more of another
// one: two of x's three members, one of which lost a counter, and the three of y.
func TestALivingDeploymentIsNotLeft(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 6, func(t *testing.T, d *harness.Deployment) {
		opts := d.InTime(harness.RecoveryOptions()...)
		right := harness.ClientOn(t, d.Raw[:3], opts...)
		harness.Must(t, harness.Found(context.Background(), right, 0))
		wrong := harness.ClientOn(t, slices.Concat(d.Raw[:2], d.Raw[3:]), opts...)
		harness.Must(t, harness.MustTry(t, wrong, "first").Unlock(context.Background()))
		harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[3:], opts...), 0))
		held := harness.MustTry(t, right, "job")
		harness.Must(t, d.Raw[1].Del(context.Background(), script.KeysOf(limits.DefaultPrefix, "first", "").Fence).Err())
		_, _ = right.TryLock(context.Background(), "first") // which finds the loss
		for begin := d.Now(); d.Now().Sub(begin) < 2*harness.RecoveryMaxTTL; time.Sleep(50 * time.Millisecond) {
			if lock, err := wrong.TryLock(context.Background(), "job"); err == nil {
				t.Fatalf("token %v, beside the holder with %v", lock.Token(), held.Token())
			}
		}
		harness.Must(t, held.Unlock(context.Background()))
	})
}

// Whoever founded a deployment can lock at once, though the same client could not a moment ago.
func TestLockRightAfterInit(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Stranger()
		_, err := c.TryLock(context.Background(), "job")
		harness.RequireErr(t, err, redlock.ErrNeedsInit)
		harness.Must(t, harness.Found(context.Background(), c, 0))
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
	})
}

// Init on a deployment that is founded raises the counters of its members. One that is new has not
// got those of the others by that, and does not vote before it has.
func TestInitBesideANewMember(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		opts := d.InTime(harness.RecoveryOptions()...)
		founder := harness.ClientOn(t, d.Raw, opts...)
		harness.Must(t, harness.Found(context.Background(), founder, 1<<45)) // above all that an init raises counters to
		harness.Must(t, founder.Close())
		others := harness.ClientOn(t, []*redis.Client{d.Raw[0], d.Raw[2]}, opts...)
		var last *redlock.Lock
		for range 10 {
			last = harness.MustTry(t, others, "job")
			harness.Must(t, last.Unlock(context.Background()))
		}
		harness.Settled(t, others)
		harness.Must(t, others.Close())
		harness.Must(t, d.Raw[0].FlushAll(context.Background()).Err())

		first, cuts := d.Masters[0], new(atomic.Bool)
		cuts.Store(true)
		d.Masters[0] = cutMaster{first, redis.NewScript(script.SyncSource).Hash(), cuts} // no counters come there
		helper := d.Stranger(harness.RecoveryOptions()...)
		d.Masters[0] = first
		harness.Eventually(t, "the first is a new member", func() bool {
			_, _ = helper.TryLock(context.Background(), "else") // it notices
			return d.Register(0)["version"] != ""
		})
		harness.Must(t, helper.Close())
		if is := d.Register(0); is["synced"] != "" || is["votes"] != "" {
			t.Fatalf("it has the counters of the others: %v", is)
		}
		harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw, opts...), 0))
		again := harness.ClientOn(t, d.Raw, opts...)
		harness.Eventually(t, "it votes", func() bool {
			_, _ = again.TryLock(context.Background(), "else")
			return d.Register(0)["votes"] != ""
		})
		lock := harness.MustTry(t, harness.ClientOn(t, d.Raw[:2], opts...), "job")
		if lock.Token() <= last.Token() {
			t.Errorf("token %d after %d", lock.Token(), last.Token())
		}
	})
}
