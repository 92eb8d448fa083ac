package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// Faults of redis-server processes. Most of these are behind a proxy that holds, loses or repeats messages.
// docs/TRAPS.md lists the traps.

func TestRefusingMasters(t *testing.T) {
	t.Parallel()
	for why, refuse := range map[string]func(r *redis.Client) error{
		"OOM": func(r *redis.Client) error { return r.ConfigSet(context.Background(), "maxmemory", "1").Err() },
		"NOPERM": func(r *redis.Client) error {
			return r.Do(context.Background(), "acl", "setuser", "default", "-evalsha").Err()
		},
		`its role is "slave"`: func(r *redis.Client) error { return r.Do(context.Background(), "replicaof", "127.0.0.1", "1").Err() },
		"it may evict keys": func(r *redis.Client) error {
			if err := r.ConfigSet(context.Background(), "maxmemory-policy", "volatile-lru").Err(); err != nil {
				return err
			}
			return r.ConfigSet(context.Background(), "maxmemory", "100mb").Err()
		},
		"NOAUTH": func(r *redis.Client) error { return r.ConfigSet(context.Background(), "requirepass", "secret").Err() },
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			d := harness.Processes(t, 5, redisproc.Config{})
			harness.Must(t, harness.MustTry(t, harness.FaultClient(d), "job").Unlock(context.Background()))
			harness.RequireFree(t, d, "job")
			for i := range 2 {
				harness.Must(t, refuse(d.Raw[i]))
			}
			c := d.Client(redlock.WithRequestTimeout(harness.FaultRequest), redlock.WithTTL(harness.FaultTTL))
			start := time.Now()
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			if took := time.Since(start); took > harness.FaultRequest {
				t.Errorf("a refusing minority cost %v", took)
			}
			harness.Must(t, refuse(d.Raw[2]))
			late := d.Client(redlock.WithRequestTimeout(harness.FaultRequest), redlock.WithTTL(harness.FaultTTL))
			_, err := late.TryLock(context.Background(), "another job") // a late request may still hold "job"
			harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrNoQuorum)
			if errors.Is(err, redlock.ErrHeld) || !strings.Contains(err.Error(), why) {
				t.Error(err)
			}
		})
	}
}

// Trap 5: an acquire arrives after the release of its attempt or of its hold. After the Unlock the name may linger on
// other masters. The tests of the scripts cover the other operations that a gone mark refuses.
func TestLateAcquireIsRefused(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		held    int // how many acquires are late
		opts    []redlock.LockOption
		release *script.Operation
		free    int // how many masters, from the first on, have no trace of the lock in the end
	}{
		{3, nil, script.Undo, 5},
		{1, nil, script.Undo, 5},
		{1, []redlock.LockOption{redlock.WithHoldAtLeast(time.Minute - time.Second)}, script.Linger, 1},
	} {
		t.Run(fmt.Sprintf("%d of 5 late, %s", x.held, x.release.Name), func(t *testing.T) {
			t.Parallel()
			d, proxies := harness.Proxied(t, 5)
			c := harness.FaultClient(d)
			var late, releases []*faultproxy.Fault
			for _, p := range proxies[:x.held] {
				releases = append(releases, p.Add(harness.On(x.release, 0, faultproxy.Pass)))
				late = append(late, p.Add(harness.On(script.Acquire, 1, faultproxy.HoldRequest)))
			}
			lock, err := c.TryLock(context.Background(), "job", x.opts...)
			if x.held == 3 {
				harness.RequireErr(t, err, redlock.ErrNoQuorum)
			} else {
				harness.Must(t, err)
				harness.Within(t, "the acquire is held", late[0].Seen())
				harness.Must(t, lock.Unlock(context.Background()))
			}
			for i, r := range releases { // the release overtakes the acquire, on a new connection
				harness.Within(t, "the release is answered", r.Answered())
				late[i].Release()
				harness.Within(t, "the acquire is answered", late[i].Answered())
			}
			if got := d.Holders("job")[:x.free]; strings.Contains(got, "1") {
				t.Fatalf("an acquire that came after its release is held: %s", got)
			}
			if x.opts == nil {
				harness.Must(t, harness.MustTry(t, harness.FaultClient(d), "job").Unlock(context.Background()))
			}
		})
	}
}

// If a master lacks the script, the acquire is sent a second time. The queued release does not overtake the second
// acquire.
func TestScriptFlushKeepsOrder(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c := harness.FaultClient(d)
	harness.Must(t, d.Raw[2].ScriptFlush(context.Background()).Err())
	unknown := proxies[2].Add(harness.On(script.Acquire, 1, faultproxy.HoldReply))
	lock := harness.MustTry(t, c, "job")
	harness.Within(t, "the third does not know the script", unknown.Seen())
	if got := d.Holders("job"); got != "110" {
		t.Fatalf("held on %s: nothing is tested", got)
	}
	harness.Must(t, lock.Unlock(context.Background()))
	unknown.Release()
	harness.Settled(t, c)
	harness.RequireFree(t, d, "job")
}

func TestScriptSHA(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 1, redisproc.Config{})
	if sha, err := d.Raw[0].ScriptLoad(context.Background(), script.BatchSource).Result(); err != nil || sha != script.BatchSHA {
		t.Errorf("%s, redis returns %s (%v)", script.BatchSHA, sha, err)
	}
}

// Traps 14 and 15: unlocks race renewals. No lock is left, and no lock is reported lost.
func TestUnlockRacingRenewal(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	c := d.Reached(redlock.WithTTL(harness.FaultTTL))
	const workers, pairs = 200, 50
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for range pairs {
				lock, err := c.TryLock(context.Background(), fmt.Sprint("job-", w))
				if err != nil {
					t.Error(err)
					return
				}
				// A renewal would be due seconds later. Make it due at about this moment.
				time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, func() { harness.Inside(c).Holds.RenewNow(lock.Name()) })
				time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
				if err := lock.Unlock(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, r := range d.Raw {
		harness.Eventually(t, "nothing is left", func() bool {
			keys, err := r.Keys(context.Background(), "*:lock:*").Result()
			harness.Must(t, err)
			return len(keys) == 0
		})
	}
}

// Trap 9: when contenders start together and split the votes, one of them must soon win.
func TestSplitVotesResolve(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		clients := contenders(d, 8)
		for round := range 10 {
			name := fmt.Sprint("job-", round)
			begun := time.Now()
			first := make(chan time.Duration, len(clients))
			var all sync.WaitGroup
			for _, c := range clients {
				all.Go(func() {
					lock, err := c.Lock(context.Background(), name)
					if err != nil {
						t.Error(err)
						return
					}
					first <- time.Since(begun)
					harness.Check(t, lock.Unlock(context.Background()))
				})
			}
			if took := <-first; took > 200*time.Millisecond {
				t.Errorf("the first of %d contenders won after %v", len(clients), took)
			}
			all.Wait()
		}
	})
}

// contenders returns n clients. Each client reaches some masters sooner than others.
func contenders(d *harness.Deployment, n int, opts ...redlock.Option) (all []*redlock.Client) {
	d.Client() // founds the deployment
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	d.MoveAway(func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Millisecond + time.Duration(random.Int64N(int64(5*time.Millisecond)))
	})
	for range n {
		all = append(all, d.Reached(opts...))
	}
	return all
}

// With a dead and a hung master of five, a split vote is resolved before the hung master times out.
func TestContendersDoNotWaitForHungMaster(t *testing.T) {
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		masters := slices.Clone(d.Masters)
		clients := contenders(d, 5, redlock.WithRequestTimeout(time.Second))
		masters[0].Die()
		masters[1].Freeze()
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		defer cancel()
		var acquired atomic.Int64
		var all sync.WaitGroup
		for _, c := range clients {
			all.Go(func() {
				for ctx.Err() == nil {
					if lock, err := c.Lock(ctx, "job"); err == nil {
						acquired.Add(1)
						harness.Check(t, lock.Unlock(context.Background()))
					}
				}
			})
		}
		all.Wait()
		masters[1].Thaw()
		if n := acquired.Load(); n < 100 {
			t.Errorf("%d acquisitions in 4 s", n)
		} else {
			t.Logf("%d acquisitions in 4 s", n)
		}
	})
}

func TestNoConnectionOutlivesClose(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	count := func() (n int) {
		for _, r := range d.Raw {
			list, err := r.ClientList(context.Background()).Result()
			harness.Must(t, err)
			n += strings.Count(list, "\n")
		}
		return n
	}
	before := count()
	c, err := redlock.Open(d.URLs("", ""))
	harness.Must(t, err)
	harness.Must(t, admin.Init(context.Background(), c, 0))
	harness.MustTry(t, c, "job")
	if count() <= before {
		t.Error("no connection was made: this test counts nothing")
	}
	harness.Must(t, c.Close())
	harness.Eventually(t, "no connection is left", func() bool { return count() == before })
	if got := d.Holders("job"); got != "000" {
		t.Errorf("after Close held on %s", got)
	}
}
