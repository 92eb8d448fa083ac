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
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testhook"
)

// Faults on redis-server processes, most of them by a proxy before each that can hold, lose or
// repeat this request or that reply. The numbers of traps are those of docs/TRAPS.md.

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
			_, err := late.TryLock(context.Background(), "another job") // the first may be held by a straggler yet
			harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrNoQuorum)
			if errors.Is(err, redlock.ErrHeld) || !strings.Contains(err.Error(), why) {
				t.Error(err)
			}
		})
	}
}

// Trap 2: a driver that ignores the context's deadline.
func TestClientsWithDefaultSettingsAreBounded(t *testing.T) {
	t.Parallel()
	for frozen := 1; frozen <= 2; frozen++ {
		t.Run(fmt.Sprintf("%d of 3 frozen", frozen), func(t *testing.T) {
			t.Parallel()
			d := harness.Processes(t, 3, redisproc.Config{})
			clients := make([]redis.UniversalClient, 3)
			for i, m := range d.Masters {
				one := redis.NewClient(&redis.Options{Addr: m.(harness.ProcessMaster).Addr()})
				defer one.Close()
				clients[i] = one
			}
			c, err := redlock.New(clients, redlock.WithRequestTimeout(harness.FaultRequest))
			harness.Must(t, err)
			defer c.Close()
			harness.Must(t, harness.Found(context.Background(), c, 0))
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			for i := range frozen {
				d.Masters[i].Freeze()
			}
			start := time.Now()
			lock, err := c.TryLock(context.Background(), "another job")
			if took := time.Since(start); took > 2*harness.FaultRequest {
				t.Errorf("took %v", took)
			}
			if frozen == 1 {
				harness.Must(t, err)
				harness.Must(t, lock.Unlock(context.Background()))
			} else {
				harness.RequireErr(t, err, redlock.ErrNoQuorum)
			}
			for i := range frozen {
				d.Masters[i].Thaw()
			}
			harness.RequireFree(t, d, "another job")
		})
	}
}

// Trap 7: applied on one, reply lost; refused on the others: the first must be released all the
// same.
func TestRollbackReachesUnknownOutcomes(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	a, b := harness.FaultClient(d), harness.FaultClient(d)
	rival := harness.MustTry(t, b, "job")
	d.Drop(b, "job", 0)
	lost := proxies[0].Add(harness.On(script.Acquire, 1, faultproxy.CutAfterRequest))
	again := proxies[0].Add(harness.On(script.Acquire, 2, faultproxy.DropReply))
	_, err := a.TryLock(context.Background(), "job")
	harness.RequireErr(t, err, redlock.ErrHeld)
	harness.Within(t, "lost Seen", lost.Seen())
	harness.Within(t, "again Seen", again.Seen())
	harness.GivenBack(t, d, "job", "011", harness.FaultTTL/2)
	harness.Must(t, rival.Unlock(context.Background()))
	harness.Must(t, harness.MustTry(t, b, "job").Unlock(context.Background()))
}

// Trap 5: an acquire that arrives after its own rollback, or after the Unlock of the lock it was a
// straggler of, which may linger elsewhere.
func TestLateAcquireCannotStand(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		held    int
		opts    []redlock.LockOption
		release *script.Operation
		free    int // the first so many have nothing of it in the end
	}{
		{3, nil, script.Undo, 5},
		{1, nil, script.Undo, 5},
		{1, []redlock.LockOption{redlock.WithHoldAtLeast(time.Minute - time.Second)}, script.Linger, 1},
	} {
		held := x.held
		t.Run(fmt.Sprintf("%d of 5 late, %s", held, x.release.Name), func(t *testing.T) {
			t.Parallel()
			d, proxies := harness.Proxied(t, 5)
			for i := range 10 {
				name := fmt.Sprintf("job-%d", i)
				c := harness.FaultClient(d)
				var faults []*faultproxy.Fault
				var releases []*faultproxy.Fault
				for _, p := range proxies[:held] {
					releases = append(releases, p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", x.release.Name, name), Do: faultproxy.Pass}))
					faults = append(faults, p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", script.Acquire.Name, name), Nth: 1, Do: faultproxy.HoldRequest}))
				}
				lock, err := c.TryLock(context.Background(), name, x.opts...)
				if held == 3 {
					harness.RequireErr(t, err, redlock.ErrNoQuorum)
				} else {
					harness.Must(t, err)
					harness.Within(t, "the straggler's acquire is held", faults[0].Seen())
					harness.Must(t, lock.Unlock(context.Background()))
				}
				// The release overtakes the acquire on a fresh connection.
				for _, r := range releases {
					harness.Within(t, "r Answered", r.Answered())
				}
				for _, f := range faults {
					f.Release()
					harness.Within(t, "f Answered", f.Answered())
				}
				if got := d.Holders(name)[:x.free]; strings.Contains(got, "1") {
					t.Fatalf("an acquire that came after its release stands: %s", got)
				}
				if x.opts == nil {
					harness.Must(t, harness.MustTry(t, harness.FaultClient(d), name).Unlock(context.Background()))
				}
			}
		})
	}
}

func TestLateGrantOfAWonLockCounts(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c := harness.FaultClient(d)
	late := proxies[2].Add(harness.On(script.Acquire, 1, faultproxy.HoldRequest))
	lock := harness.MustTry(t, c, "job", redlock.WithoutWatchdog())
	harness.Within(t, "late Seen", late.Seen())
	late.Release()
	harness.Within(t, "late Answered", late.Answered())
	harness.Eventually(t, "the late grant is counted", func() bool {
		s := harness.Hold(lock).Master(2)
		return s.Granted && s.Until > 0
	})
	harness.Must(t, lock.Unlock(context.Background()))
	harness.RequireFree(t, d, "job")
}

// Trap 8: two masters taken, the third grants late: it must be clean again.
func TestLateGrantOfALostLockGoes(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	a, b := d.Reached(redlock.WithRequestTimeout(2*time.Second), redlock.WithTTL(harness.FaultTTL)), harness.FaultClient(d)
	rival := harness.MustTry(t, b, "job")
	d.Drop(b, "job", 2)
	late := proxies[2].Add(harness.On(script.Acquire, 1, faultproxy.HoldReply))
	others := []*faultproxy.Fault{proxies[0].Add(harness.On(script.Acquire, 1, faultproxy.HoldReply)), proxies[1].Add(harness.On(script.Acquire, 1, faultproxy.HoldReply))}
	refused := make(chan error, 1)
	go func() {
		_, err := a.TryLock(context.Background(), "job")
		refused <- err
	}()
	harness.Within(t, "the third has granted", late.Seen())
	for _, o := range others {
		harness.Within(t, "the other refuses", o.Seen())
		o.Release()
	}
	err := <-refused
	harness.RequireErr(t, err, redlock.ErrNotAcquired)
	if got := d.Holders("job"); got != "111" {
		t.Fatalf("the third master did not grant: %s (%v)", got, err)
	}
	late.Release()
	harness.GivenBack(t, d, "job", "110", harness.FaultTTL/2)
	harness.Must(t, rival.Unlock(context.Background()))
}

// Trap 1: go-redis with its default settings sends again what it got no reply to.
func TestDriverRetriesCountOnce(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	clients := make([]redis.UniversalClient, 3)
	for i, p := range proxies {
		one := redis.NewClient(&redis.Options{Addr: p.Addr()}) // MaxRetries 3
		defer one.Close()
		clients[i] = one
	}
	c, err := redlock.New(clients, redlock.WithRequestTimeout(harness.FaultRequest), redlock.WithTTL(harness.FaultTTL))
	harness.Must(t, err)
	defer c.Close()
	harness.Must(t, harness.Found(context.Background(), c, 0))
	harness.Must(t, harness.MustTry(t, c, "reaching").Unlock(context.Background()))
	for _, p := range proxies {
		p.Add(harness.On(script.Acquire, 1, faultproxy.CutAfterRequest))
	}
	before, err := d.Raw[0].Get(context.Background(), script.KeysOf(limits.DefaultPrefix, "job", "").Fence).Int64()
	harness.Must(t, err)
	lock := harness.MustTry(t, c, "job")
	harness.Eventually(t, "held everywhere", func() bool { return d.Holders("job") == "111" })
	for i, r := range d.Raw {
		if is := harness.LockOn(t, r, "job"); is.Depth != "1" || is.Grant != fmt.Sprint(before+1) {
			t.Errorf("master %d has %+v; one acquire was asked for, the counter was at %d", i, is, before)
		}
	}
	harness.Must(t, lock.Unlock(context.Background()))
	harness.RequireFree(t, d, "job")

	// A release that follows a cut acquire is an undo: this one follows one that was answered.
	lock = harness.MustTry(t, c, "released")
	harness.Settled(t, c)
	var cuts []*faultproxy.Fault
	for _, p := range proxies {
		cuts = append(cuts, p.Add(harness.On(script.Release, 1, faultproxy.CutAfterRequest)))
	}
	harness.Must(t, lock.Unlock(context.Background()))
	for i, cut := range cuts {
		harness.Within(t, fmt.Sprintf("the release of master %d is cut", i), cut.Seen())
	}
	harness.RequireFree(t, d, "released")
}

// Trap 6: scripts flushed in mid-flight.
func TestScriptFlushGoesUnnoticed(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	c := d.Reached()
	stop := make(chan struct{})
	var flushing sync.WaitGroup
	flushing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				for _, r := range d.Raw {
					if err := r.ScriptFlush(context.Background()).Err(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
	var workers sync.WaitGroup
	for w := range 8 {
		workers.Go(func() {
			for range 40 {
				lock, err := c.TryLock(context.Background(), fmt.Sprint("job-", w))
				if err != nil {
					t.Error(err)
					return
				}
				if err := lock.Unlock(context.Background()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	close(stop)
	flushing.Wait()
}

// A master does not know the script that has an acquire, and the release of it is queued when the
// acquire is sent again: it is not overtaken.
func TestScriptFlushKeepsTheOrder(t *testing.T) {
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

func TestTheScriptHasItsSHA(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 1, redisproc.Config{})
	if sha, err := d.Raw[0].ScriptLoad(context.Background(), script.BatchSource).Result(); err != nil || sha != script.BatchSHA {
		t.Errorf("%s, redis says %s (%v)", script.BatchSHA, sha, err)
	}
}

// Trap 13: a silent network. The holder is told at its deadline, by its own clock, before a rival
// can hold.
func TestSilenceEndsTheHoldBeforeARivalCanHold(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	a := harness.FaultClient(d)
	d.Masters = []harness.Master{d.Masters[0].(harness.ProxiedMaster).ProcessMaster, d.Masters[1].(harness.ProxiedMaster).ProcessMaster, d.Masters[2].(harness.ProxiedMaster).ProcessMaster}
	b := harness.FaultClient(d)
	lock := harness.MustTry(t, a, "job", redlock.WithTTL(2*time.Second))
	until := lock.Until()
	for _, p := range proxies {
		p.Partition(true, true)
	}
	told := make(chan time.Time, 1)
	context.AfterFunc(lock.Context(), func() { told <- time.Now() })
	rival, err := b.Lock(context.Background(), "job")
	got := time.Now()
	harness.Must(t, err)
	var at time.Time
	select {
	case at = <-told:
	case <-time.After(harness.Patience):
		t.Fatal("the rival holds, and the holder is not told")
	}
	if at.After(got) {
		t.Errorf("told at %v, the rival held at %v", at, got)
	}
	if at.After(until.Add(500 * time.Millisecond)) {
		t.Errorf("told %v after the deadline", at.Sub(until))
	}
	harness.RequireErr(t, context.Cause(lock.Context()), redlock.ErrExpired)
	harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
	for _, p := range proxies {
		p.Heal()
	}
	harness.Must(t, rival.Unlock(context.Background()))
}

// Unknown is not lost: a majority that is away for less than the validity costs nothing.
func TestTransientSilenceIsSurvived(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	c := harness.FaultClient(d)
	lock := harness.MustTry(t, c, "job")
	for range 2 {
		cut := make([]*faultproxy.Fault, 3)
		for i, p := range proxies {
			cut[i] = p.Add(harness.On(script.Extend, 0, faultproxy.DropRequest))
		}
		harness.Within(t, "cut[0] Seen", cut[0].Seen())
		harness.Within(t, "cut[1] Seen", cut[1].Seen())
		for _, f := range cut {
			f.Remove()
		}
		before := lock.Until()
		harness.Eventually(t, "renewed again", func() bool { return lock.Until().After(before.Add(50 * time.Millisecond)) })
		if !lock.Valid() {
			t.Fatal(context.Cause(lock.Context()))
		}
	}
	harness.Must(t, lock.Unlock(context.Background()))
}

// Traps 14 and 15: unlocks that race renewals. Nothing is left, nothing is reported lost.
func TestUnlockRacingRenewal(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	c := d.Reached(redlock.WithRequestTimeout(2*time.Second), redlock.WithTTL(harness.FaultTTL))
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
				// Renewal is due after 1 s: make it due at about this very moment.
				time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, func() { testhook.RenewNow(c, lock.Name()) })
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

// Trap 9: contenders that start together and split the votes must soon have a winner.
func TestSplitVotesResolve(t *testing.T) {
	t.Parallel()
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

// contenders returns clients each of which reaches some masters sooner than others.
func contenders(d *harness.Deployment, n int, opts ...redlock.Option) (all []*redlock.Client) {
	d.Client() // founds it
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

// Who gets too few votes gives them back at once.
func TestSplitVotesAreGivenBack(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		a, b := d.Reached(), d.Reached()
		rival := harness.MustTry(t, b, "job", redlock.WithoutWatchdog())
		d.Drop(b, "job", 0, 1)
		_, err := a.TryLock(context.Background(), "job")
		harness.RequireErr(t, err, redlock.ErrHeld)
		harness.Settled(t, a)
		if got := d.Holders("job"); got != "0011" {
			t.Errorf("held on %s", got)
		}
		harness.RequireErr(t, rival.Unlock(context.Background()), redlock.ErrLost)
	})
}

// With a dead and a hung master among five, contenders need all of the other three: a split vote
// must not be kept until the hung one has timed out.
func TestContendersDoNotWaitForAHungMaster(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 5, func(t *testing.T, d *harness.Deployment) {
		masters := slices.Clone(d.Masters)
		clients := contenders(d, 5, redlock.WithRequestTimeout(time.Second))
		masters[0].Die()
		masters[1].Freeze()
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		defer cancel()
		var had atomic.Int64
		var all sync.WaitGroup
		for _, c := range clients {
			all.Go(func() {
				for ctx.Err() == nil {
					if lock, err := c.Lock(ctx, "job"); err == nil {
						had.Add(1)
						harness.Check(t, lock.Unlock(context.Background()))
					}
				}
			})
		}
		all.Wait()
		masters[1].Thaw()
		if n := had.Load(); n < 100 {
			t.Errorf("%d acquisitions in 4 s", n)
		} else {
			t.Logf("%d acquisitions in 4 s", n)
		}
	})
}

// Trap 28: a waiter must not ask all the time.
func TestWaitersAskSeldom(t *testing.T) {
	t.Parallel()
	d, proxies := harness.Proxied(t, 3)
	a, b := harness.FaultClient(d), harness.FaultClient(d)
	held := harness.MustTry(t, a, "job", redlock.WithTTL(30*time.Second), redlock.WithoutWatchdog())
	for _, p := range proxies {
		p.Forget()
	}
	_, err := b.Lock(context.Background(), "job", redlock.WithWait(2*time.Second))
	harness.RequireErr(t, err, redlock.ErrHeld)
	for i, p := range proxies {
		if n := p.Count(faultproxy.Match("evalsha")); n > 80 {
			t.Errorf("a waiter sent %d calls to master %d in 2 s", n, i)
		}
	}
	harness.Must(t, held.Unlock(context.Background()))
}

func TestNoConnectionOutlivesClose(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	var urls []string
	for _, m := range d.Masters {
		urls = append(urls, m.(harness.ProcessMaster).URL())
	}
	count := func() int {
		n := 0
		for _, r := range d.Raw {
			list, err := r.ClientList(context.Background()).Result()
			harness.Must(t, err)
			n += strings.Count(list, "\n")
		}
		return n
	}
	before := count()
	c, err := redlock.Open(urls)
	harness.Must(t, err)
	harness.Must(t, harness.Found(context.Background(), c, 0))
	lock := harness.MustTry(t, c, "job")
	_, err = c.TryLock(context.Background(), "job")
	harness.RequireErr(t, err, redlock.ErrHeld)
	_ = lock
	if count() <= before {
		t.Error("no connection was made: this test counts nothing")
	}
	harness.Must(t, c.Close())
	harness.Eventually(t, "no connection is left", func() bool { return count() == before })
	if got := d.Holders("job"); got != "000" {
		t.Errorf("after Close held on %s", got)
	}
}
