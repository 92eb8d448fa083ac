package redlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// clientOn returns a client on these servers.
func clientOn(t *testing.T, servers []*redis.Client, opts ...Option) *Client {
	t.Helper()
	var masters []redis.UniversalClient
	for _, r := range servers {
		masters = append(masters, r)
	}
	c, err := New(masters, opts...)
	must(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
	return c
}

// That a server was a replica before it was founded is noted, and does not count against it.
func TestAPromotedReplicaIsFounded(t *testing.T) {
	t.Parallel()
	cfg := redisproc.Config{}
	_, r := replicaOf(t, processes(t, 1, cfg).server(0), cfg)
	must(t, r.Do(background, "replicaof", "no", "one").Err())
	c := clientOn(t, []*redis.Client{r})
	must(t, c.found(background, 0))
	must(t, mustTry(t, c, "job").Unlock(background))
}

// Why a server cannot be asked comes through, in a lock's error and in Init's.
func TestWhyAMasterCannotBeFounded(t *testing.T) {
	t.Parallel()
	for cause, spoil := range map[string]func(r *redis.Client) error{
		"NOPERM": func(r *redis.Client) error {
			return r.Do(background, "acl", "setuser", "default", "-eval", "-evalsha").Err()
		},
		"another type": func(r *redis.Client) error {
			return r.Set(background, script.RegisterKey(limits.DefaultPrefix), "words", 0).Err()
		},
		"keys are of format": func(r *redis.Client) error {
			return r.HSet(background, script.RegisterKey(limits.DefaultPrefix), "deployment", "d", "id", "one", "version", "1", "table", `{"format":"7"}`).Err()
		},
		"cannot be read": func(r *redis.Client) error {
			return r.HSet(background, script.RegisterKey(limits.DefaultPrefix), "deployment", "d", "id", "one", "version", "1", "table", "words").Err()
		},
	} {
		t.Run(cause, func(t *testing.T) {
			t.Parallel()
			d := processes(t, 3, redisproc.Config{})
			must(t, spoil(d.raw[1]))
			c := d.stranger(recoveryOptions()...)
			requireErr(t, c.mustFail(t, "job"), ErrNoQuorum)
			err := c.found(background, 0)
			if !strings.Contains(fmt.Sprint(err), cause) || !strings.Contains(err.Error(), d.raw[1].Options().Addr) {
				t.Errorf("Init: %v", err)
			}
			if cause != "NOPERM" {
				must(t, c.foundAnew(background, 0))
				must(t, mustTry(t, c, "job").Unlock(background))
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
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				dying := d.mortal(at, recoveryOptions()...)
				err := dying.found(background, 0)
				if err != nil {
					died++
				}
				must(t, dying.Close())
				c := d.stranger(recoveryOptions()...)
				must(t, c.found(background, 0))
				must(t, mustTry(t, c, "job").Unlock(background))
				one := d.register(0)
				for i := range d.masters {
					if is := d.register(i); is["version"] != one["version"] || is["deployment"] != one["deployment"] || is["votes"] == "" || is["claim"] != "" {
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
	d := processes(t, 3, redisproc.Config{})
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { _ = d.stranger(recoveryOptions()...).found(background, 0) })
	}
	both.Wait()
	c := d.stranger(recoveryOptions()...)
	must(t, c.found(background, 0))
	must(t, mustTry(t, c, "job").Unlock(background))
	for i := range d.masters {
		if is, one := d.register(i), d.register(0); is["version"] != one["version"] || is["deployment"] != one["deployment"] {
			t.Errorf("%v and %v", is, one)
		}
	}
}

// A client that asks for a lock while the masters are claimed, and belong to nothing yet,
// locks when they are founded.
func TestAClientThatLooksInTheMiddleOfAnInit(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(recoveryOptions()...)
		for _, r := range d.raw {
			must(t, r.FlushAll(background).Err())
		}
		requireErr(t, c.mustFail(t, "job"), ErrNoQuorum)
		for at := 20; at < 100; at += 10 { // dies after some of its steps
			dying := d.mortal(at, recoveryOptions()...)
			_ = dying.foundAnew(background, 0)
			_ = dying.Close()
			if lock, err := c.TryLock(background, "job"); err == nil {
				must(t, lock.Unlock(background))
			}
		}
		must(t, d.stranger(recoveryOptions()...).foundAnew(background, 0))
		begin := time.Now()
		must(t, mustTry(t, c, "job").Unlock(background))
		if took := time.Since(begin); took > c.requestTimeout {
			t.Errorf("it took %v", took)
		}
	})
}

// Of servers that lost a majority of their data, ForceInit makes a new deployment, and
// clients that run go on with it. Tokens go on growing.
func TestForceInitWhileClientsRun(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	running := d.reached(recoveryOptions()...)
	before := mustTry(t, running, "job")
	must(t, before.Unlock(background))
	must(t, d.stranger(recoveryOptions()...).foundAnew(background, before.Token()+1_000_000))
	lock, err := running.Lock(background, "job", WithWait(patience))
	must(t, err)
	if lock.Token() <= before.Token()+1_000_000 {
		t.Errorf("token %d after %d", lock.Token(), before.Token())
	}
	must(t, lock.Unlock(background))
}

// Servers that were to become members of a deployment whose members lost their data do not keep a client
// from the one that was founded in its place, though they are as many as its quorum.
func TestForceInitBesideServersThatWereToJoin(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		must(t, clientOn(t, d.raw[:3], d.inTime(recoveryOptions()...)...).found(background, 0))
		c := d.stranger(recoveryOptions()...)
		must(t, mustTry(t, c, "job").Unlock(background))
		for i := 3; i < 5; i++ {
			run := membership.ParseInfo(d.raw[i].Info(background).Val())["run_id"]
			must(t, d.raw[i].HSet(background, script.RegisterKey(limits.DefaultPrefix), "deployment", d.register(0)["deployment"], "id", fmt.Sprint("new ", i), "run", run).Err())
		}
		for i := range 3 {
			lost := d.masters[i].(embeddedMaster)
			lost.Kill(true)
			must(t, lost.Restart())
		}
		must(t, clientOn(t, d.raw[:3], d.inTime(recoveryOptions()...)...).foundAnew(background, 0))
		lock, err := c.Lock(background, "job", WithWait(patience))
		must(t, err)
		must(t, lock.Unlock(background))
	})
}

// Nor does a former member, which was away when it was replaced, and has the table of then.
func TestForceInitBesideAFormerMember(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
		must(t, clientOn(t, d.raw[:3], d.inTime(recoveryOptions()...)...).found(background, 0))
		c := d.stranger(recoveryOptions()...)
		must(t, mustTry(t, c, "job").Unlock(background))
		d.masters[0].die()
		must(t, c.changeMembers(background, replaceMember(d.address(0), d.address(3)), nil))
		d.masters[0].revive()
		for i := 1; i < 3; i++ {
			lost := d.masters[i].(embeddedMaster)
			lost.Kill(true)
			must(t, lost.Restart())
		}
		anew := []*redis.Client{d.raw[1], d.raw[2], d.raw[4]}
		must(t, clientOn(t, anew, d.inTime(recoveryOptions()...)...).foundAnew(background, 0))
		lock, err := c.Lock(background, "job", WithWait(patience))
		must(t, err)
		must(t, lock.Unlock(background))
	})
}

// A client stays with its deployment as long as that may live, though its list has more of another
// one: two of x's three members, one of which lost a counter, and the three of y.
func TestALivingDeploymentIsNotLeft(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 6, func(t *testing.T, d *deployment) {
		opts := d.inTime(recoveryOptions()...)
		right := clientOn(t, d.raw[:3], opts...)
		must(t, right.found(background, 0))
		wrong := clientOn(t, slices.Concat(d.raw[:2], d.raw[3:]), opts...)
		must(t, mustTry(t, wrong, "first").Unlock(background))
		must(t, clientOn(t, d.raw[3:], opts...).found(background, 0))
		held := mustTry(t, right, "job")
		must(t, d.raw[1].Del(background, script.KeysOf(limits.DefaultPrefix, "first", "").Fence).Err())
		_, _ = right.TryLock(background, "first") // which finds the loss
		for begin := d.now(); d.now().Sub(begin) < 2*recoveryMaxTTL; time.Sleep(50 * time.Millisecond) {
			if lock, err := wrong.TryLock(background, "job"); err == nil {
				t.Fatalf("token %v, beside the holder with %v", lock.Token(), held.Token())
			}
		}
		must(t, held.Unlock(background))
	})
}

// Whoever founded a deployment can lock at once, though the same client could not a moment ago.
func TestLockRightAfterInit(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.stranger()
		_, err := c.TryLock(background, "job")
		requireErr(t, err, ErrNeedsInit)
		must(t, c.found(background, 0))
		must(t, mustTry(t, c, "job").Unlock(background))
	})
}

// Init on a deployment that is founded raises the counters of its members. One that is new
// has not got those of the others by that, and does not vote before it has.
func TestInitBesideANewMember(t *testing.T) {
	t.Parallel()
	met := false
	for range 10 { // who makes it a member may go on at once
		inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
			opts := d.inTime(recoveryOptions()...)
			founder := clientOn(t, d.raw, opts...)
			must(t, founder.found(background, 1<<45)) // above all that an init raises counters to
			must(t, founder.Close())
			others := clientOn(t, []*redis.Client{d.raw[0], d.raw[2]}, opts...)
			var last *Lock
			for range 10 {
				last = mustTry(t, others, "job")
				must(t, last.Unlock(background))
			}
			settled(t, others)
			must(t, others.Close())
			must(t, d.raw[0].FlushAll(background).Err())

			helper := clientOn(t, d.raw, opts...)
			_, _ = helper.TryLock(background, "else") // it notices
			eventually(t, "the first is a new member", func() bool {
				is := d.register(0)
				met = is["synced"] == ""
				return is["version"] != ""
			})
			must(t, helper.Close())
			must(t, clientOn(t, d.raw, opts...).found(background, 0))
			again := clientOn(t, d.raw, opts...)
			eventually(t, "it votes", func() bool {
				_, _ = again.TryLock(background, "else")
				return d.register(0)["votes"] != ""
			})
			lock := mustTry(t, clientOn(t, d.raw[:2], opts...), "job")
			if lock.Token() <= last.Token() {
				t.Errorf("token %d after %d", lock.Token(), last.Token())
			}
		})
		if met {
			return
		}
	}
	t.Error("the first had the counters of the others before anybody looked")
}
