package redlock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// Faults on redis-server processes, most of them by a proxy before each that can
// hold, lose or repeat this request or that reply. The numbers of traps are those
// of docs/TRAPS.md.

func TestRefusingMasters(t *testing.T) {
	t.Parallel()
	for why, refuse := range map[string]func(r *redis.Client) error{
		"OOM":                 func(r *redis.Client) error { return r.ConfigSet(background, "maxmemory", "1").Err() },
		"NOPERM":              func(r *redis.Client) error { return r.Do(background, "acl", "setuser", "default", "-evalsha").Err() },
		`its role is "slave"`: func(r *redis.Client) error { return r.Do(background, "replicaof", "127.0.0.1", "1").Err() },
		"it may evict keys": func(r *redis.Client) error {
			if err := r.ConfigSet(background, "maxmemory-policy", "volatile-lru").Err(); err != nil {
				return err
			}
			return r.ConfigSet(background, "maxmemory", "100mb").Err()
		},
		"NOAUTH": func(r *redis.Client) error { return r.ConfigSet(background, "requirepass", "secret").Err() },
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			d := processes(t, 5, redisproc.Config{})
			must(t, mustTry(t, faultClient(d), "job").Unlock(background))
			requireFree(t, d, "job")
			for i := range 2 {
				must(t, refuse(d.raw[i]))
			}
			c := d.client(WithRequestTimeout(faultRequest), WithTTL(faultTTL))
			start := time.Now()
			must(t, mustTry(t, c, "job").Unlock(background))
			if took := time.Since(start); took > faultRequest {
				t.Errorf("a refusing minority cost %v", took)
			}
			must(t, refuse(d.raw[2]))
			late := d.client(WithRequestTimeout(faultRequest), WithTTL(faultTTL))
			_, err := late.TryLock(background, "another job") // the first may be held by a straggler yet
			requireErr(t, err, ErrNotAcquired, ErrNoQuorum)
			if errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), why) {
				t.Error(err)
			}
		})
	}
}

func TestARefusingMinorityStopsNothing(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 4, 5, 7} {
		t.Run(fmt.Sprint("N=", n), func(t *testing.T) {
			t.Parallel()
			d := processes(t, n, redisproc.Config{})
			c := faultClient(d)
			for i := range n {
				must(t, d.raw[i].ConfigSet(background, "maxmemory", "1").Err()) // OOM
				lock, err := c.TryLock(background, fmt.Sprint("job-", i))
				if minority := i+1 <= n-testvotes.MajorityOf(n); minority {
					must(t, err)
					must(t, lock.Unlock(background))
				} else {
					requireErr(t, err, ErrNotAcquired, ErrNoQuorum)
				}
			}
		})
	}
}

func TestOneServerGivenTwiceIsRefused(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	twice, err := faultproxy.New(d.masters[0].(proxiedMaster).processMaster.Addr())
	must(t, err)
	t.Cleanup(func() { must(t, twice.Close()) })
	must(t, mustTry(t, faultClient(d), "job").Unlock(background))
	requireFree(t, d, "job")
	c, err := Open([]string{proxies[0].URL(), twice.URL(), proxies[1].URL(), proxies[2].URL()})
	must(t, err)
	defer c.Close()
	lock := mustTry(t, c, "job") // 3 of 4
	must(t, lock.Unlock(background))
	c, err = Open([]string{proxies[0].URL(), twice.URL()})
	must(t, err)
	defer c.Close()
	_, err = c.TryLock(background, "another job")
	requireErr(t, err, ErrNoQuorum, ErrNotMember)
	if !strings.Contains(err.Error(), "same server") {
		t.Error(err)
	}
}

// Trap 2: a driver that ignores the context's deadline.
func TestClientsWithDefaultSettingsAreBounded(t *testing.T) {
	t.Parallel()
	for frozen := 1; frozen <= 2; frozen++ {
		t.Run(fmt.Sprintf("%d of 3 frozen", frozen), func(t *testing.T) {
			t.Parallel()
			d := processes(t, 3, redisproc.Config{})
			clients := make([]redis.UniversalClient, 3)
			for i, m := range d.masters {
				one := redis.NewClient(&redis.Options{Addr: m.(processMaster).Addr()})
				defer one.Close()
				clients[i] = one
			}
			c, err := New(clients, WithRequestTimeout(faultRequest))
			must(t, err)
			defer c.Close()
			must(t, c.found(background, 0))
			must(t, mustTry(t, c, "job").Unlock(background))
			for i := range frozen {
				d.masters[i].freeze()
			}
			start := time.Now()
			lock, err := c.TryLock(background, "another job")
			if took := time.Since(start); took > 2*faultRequest {
				t.Errorf("took %v", took)
			}
			if frozen == 1 {
				must(t, err)
				must(t, lock.Unlock(background))
			} else {
				requireErr(t, err, ErrNoQuorum)
			}
			for i := range frozen {
				d.masters[i].thaw()
			}
			requireFree(t, d, "another job")
		})
	}
}

// Trap 7: applied on one, reply lost; refused on the others: the first must be
// released all the same.
func TestRollbackReachesUnknownOutcomes(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	a, b := faultClient(d), faultClient(d)
	rival := mustTry(t, b, "job")
	d.drop(b, "job", 0)
	lost := proxies[0].Add(on(script.Acquire, 1, faultproxy.CutAfterRequest))
	again := proxies[0].Add(on(script.Acquire, 2, faultproxy.DropReply))
	_, err := a.TryLock(background, "job")
	requireErr(t, err, ErrHeld)
	within(t, "lost Seen", lost.Seen())
	within(t, "again Seen", again.Seen())
	givenBack(t, d, "job", "011", faultTTL/2)
	must(t, rival.Unlock(background))
	must(t, mustTry(t, b, "job").Unlock(background))
}

// Trap 5: an acquire that arrives after its own rollback, or after the Unlock of
// the lock it was a straggler of, which may linger elsewhere.
func TestLateAcquireCannotStand(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		held    int
		opts    []LockOption
		release *script.Operation
		free    int // the first so many have nothing of it in the end
	}{
		{3, nil, script.Undo, 5},
		{1, nil, script.Undo, 5},
		{1, []LockOption{WithHoldAtLeast(time.Minute - time.Second)}, script.Linger, 1},
	} {
		held := x.held
		t.Run(fmt.Sprintf("%d of 5 late, %s", held, x.release.Name), func(t *testing.T) {
			t.Parallel()
			d, proxies := proxied(t, 5)
			for i := range 10 {
				name := fmt.Sprintf("job-%d", i)
				c := faultClient(d)
				var faults []*faultproxy.Fault
				var releases []*faultproxy.Fault
				for _, p := range proxies[:held] {
					releases = append(releases, p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", x.release.Name, name), Do: faultproxy.Pass}))
					faults = append(faults, p.Add(faultproxy.Rule{On: faultproxy.Match("evalsha", script.Acquire.Name, name), Nth: 1, Do: faultproxy.HoldRequest}))
				}
				lock, err := c.TryLock(background, name, x.opts...)
				if held == 3 {
					requireErr(t, err, ErrNoQuorum)
				} else {
					must(t, err)
					within(t, "the straggler's acquire is held", faults[0].Seen())
					must(t, lock.Unlock(background))
				}
				// The release overtakes the acquire on a fresh connection.
				for _, r := range releases {
					within(t, "r Answered", r.Answered())
				}
				for _, f := range faults {
					f.Release()
					within(t, "f Answered", f.Answered())
				}
				if got := d.holders(name)[:x.free]; strings.Contains(got, "1") {
					t.Fatalf("an acquire that came after its release stands: %s", got)
				}
				if x.opts == nil {
					must(t, mustTry(t, faultClient(d), name).Unlock(background))
				}
			}
		})
	}
}

// The same with a master that is stopped and goes on: what was queued in its
// sockets is served in any order over connections.
func TestFrozenMasterServesTheDeadAtItsThaw(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	events := &recorder{}
	c := faultClient(d, WithObserver(Observer{MasterDown: func(MasterStatus) { events.note("down") }}))
	for i := range 8 {
		name := fmt.Sprintf("job-%d", i)
		d.masters[0].freeze()
		d.masters[1].freeze()
		_, err := c.TryLock(background, name)
		requireErr(t, err, ErrNoQuorum)
		if i%2 == 1 { // until the releases have failed, too
			before := events.count("down")
			eventually(t, "two masters are down", func() bool { return events.count("down") >= max(2, before) })
		}
		d.masters[0].thaw()
		d.masters[1].thaw()
		requireFree(t, d, name)
	}
}

func TestLateGrantOfAWonLockCounts(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c := faultClient(d)
	late := proxies[2].Add(on(script.Acquire, 1, faultproxy.HoldRequest))
	lock := mustTry(t, c, "job", WithoutWatchdog())
	within(t, "late Seen", late.Seen())
	late.Release()
	within(t, "late Answered", late.Answered())
	eventually(t, "the late grant is counted", func() bool {
		s := lock.h.Master(2)
		return s.Granted && s.Until > 0
	})
	must(t, lock.Unlock(background))
	requireFree(t, d, "job")
}

// Trap 8: two masters taken, the third grants late: it must be clean again.
func TestLateGrantOfALostLockGoes(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	a, b := d.reached(WithRequestTimeout(2*time.Second), WithTTL(faultTTL)), faultClient(d)
	rival := mustTry(t, b, "job")
	d.drop(b, "job", 2)
	late := proxies[2].Add(on(script.Acquire, 1, faultproxy.HoldReply))
	others := []*faultproxy.Fault{proxies[0].Add(on(script.Acquire, 1, faultproxy.HoldReply)), proxies[1].Add(on(script.Acquire, 1, faultproxy.HoldReply))}
	refused := make(chan error, 1)
	go func() {
		_, err := a.TryLock(background, "job")
		refused <- err
	}()
	within(t, "the third has granted", late.Seen())
	for _, o := range others {
		within(t, "the other refuses", o.Seen())
		o.Release()
	}
	err := <-refused
	requireErr(t, err, ErrNotAcquired)
	if got := d.holders("job"); got != "111" {
		t.Fatalf("the third master did not grant: %s (%v)", got, err)
	}
	late.Release()
	givenBack(t, d, "job", "110", faultTTL/2)
	must(t, rival.Unlock(background))
}

// Connections cut at any byte of an acquire, on its way there and back.
func TestCutAtAnyByte(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c := faultClient(d)
	for n := 0; n < 360; n += 3 {
		underFault(t, d, c, proxies[:1], on(script.Acquire, 1, faultproxy.CutRequestAt(n)), fmt.Sprint("request-", n), walk)
	}
	for n := range 16 {
		underFault(t, d, c, proxies[:1], on(script.Acquire, 1, faultproxy.CutReplyAt(n)), fmt.Sprint("reply-", n), walk)
	}
}

// Trap 1: go-redis with its default settings sends again what it got no reply to.
func TestDriverRetriesCountOnce(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	clients := make([]redis.UniversalClient, 3)
	for i, p := range proxies {
		one := redis.NewClient(&redis.Options{Addr: p.Addr()}) // MaxRetries 3
		defer one.Close()
		clients[i] = one
	}
	c, err := New(clients, WithRequestTimeout(faultRequest), WithTTL(faultTTL))
	must(t, err)
	defer c.Close()
	must(t, c.found(background, 0))
	must(t, mustTry(t, c, "reaching").Unlock(background))
	for _, p := range proxies {
		p.Add(on(script.Acquire, 1, faultproxy.CutAfterRequest))
	}
	before, err := d.raw[0].Get(background, script.KeysOf(limits.DefaultPrefix, "job", "").Fence).Int64()
	must(t, err)
	lock := mustTry(t, c, "job")
	eventually(t, "held everywhere", func() bool { return d.holders("job") == "111" })
	for i, r := range d.raw {
		if is := lockOn(t, r, "job"); is.depth != "1" || is.grant != fmt.Sprint(before+1) {
			t.Errorf("master %d has %+v; one acquire was asked for, the counter was at %d", i, is, before)
		}
	}
	must(t, lock.Unlock(background))
	requireFree(t, d, "job")

	// A release that follows a cut acquire is an undo: this one follows one that was answered.
	lock = mustTry(t, c, "released")
	settled(t, c)
	var cuts []*faultproxy.Fault
	for _, p := range proxies {
		cuts = append(cuts, p.Add(on(script.Release, 1, faultproxy.CutAfterRequest)))
	}
	must(t, lock.Unlock(background))
	for i, cut := range cuts {
		within(t, fmt.Sprintf("the release of master %d is cut", i), cut.Seen())
	}
	requireFree(t, d, "released")
}

// Trap 6: scripts flushed in mid-flight.
func TestScriptFlushGoesUnnoticed(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	c := d.reached()
	stop := make(chan struct{})
	var flushing sync.WaitGroup
	flushing.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				for _, r := range d.raw {
					if err := r.ScriptFlush(background).Err(); err != nil {
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
				lock, err := c.TryLock(background, fmt.Sprint("job-", w))
				if err != nil {
					t.Error(err)
					return
				}
				if err := lock.Unlock(background); err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	close(stop)
	flushing.Wait()
}

// A master does not know the script that has an acquire, and the release of it is queued when the acquire is sent again: it is not
// overtaken.
func TestScriptFlushKeepsTheOrder(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c := faultClient(d)
	must(t, d.raw[2].ScriptFlush(background).Err())
	unknown := proxies[2].Add(on(script.Acquire, 1, faultproxy.HoldReply))
	lock := mustTry(t, c, "job")
	within(t, "the third does not know the script", unknown.Seen())
	if got := d.holders("job"); got != "110" {
		t.Fatalf("held on %s: nothing is tested", got)
	}
	must(t, lock.Unlock(background))
	unknown.Release()
	settled(t, c)
	requireFree(t, d, "job")
}

func TestTheScriptHasItsSHA(t *testing.T) {
	t.Parallel()
	d := processes(t, 1, redisproc.Config{})
	if sha, err := d.raw[0].ScriptLoad(background, script.BatchSource).Result(); err != nil || sha != script.BatchSHA {
		t.Errorf("%s, redis says %s (%v)", script.BatchSHA, sha, err)
	}
}

// Trap 13: a silent network. The holder is told at its deadline, by its own
// clock, before a rival can hold.
func TestSilenceEndsTheHoldBeforeARivalCanHold(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	a := faultClient(d)
	d.masters = []testMaster{d.masters[0].(proxiedMaster).processMaster, d.masters[1].(proxiedMaster).processMaster, d.masters[2].(proxiedMaster).processMaster}
	b := faultClient(d)
	lock := mustTry(t, a, "job", WithTTL(2*time.Second))
	until := lock.Until()
	for _, p := range proxies {
		p.Partition(true, true)
	}
	told := make(chan time.Time, 1)
	context.AfterFunc(lock.Context(), func() { told <- time.Now() })
	rival, err := b.Lock(background, "job")
	got := time.Now()
	must(t, err)
	var at time.Time
	select {
	case at = <-told:
	case <-time.After(patience):
		t.Fatal("the rival holds, and the holder is not told")
	}
	if at.After(got) {
		t.Errorf("told at %v, the rival held at %v", at, got)
	}
	if at.After(until.Add(500 * time.Millisecond)) {
		t.Errorf("told %v after the deadline", at.Sub(until))
	}
	requireErr(t, context.Cause(lock.Context()), ErrExpired)
	requireErr(t, lock.Unlock(background), ErrExpired)
	for _, p := range proxies {
		p.Heal()
	}
	must(t, rival.Unlock(background))
}

// Unknown is not lost: a majority that is away for less than the validity costs
// nothing.
func TestTransientSilenceIsSurvived(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c := faultClient(d)
	lock := mustTry(t, c, "job")
	for range 2 {
		cut := make([]*faultproxy.Fault, 3)
		for i, p := range proxies {
			cut[i] = p.Add(on(script.Extend, 0, faultproxy.DropRequest))
		}
		within(t, "cut[0] Seen", cut[0].Seen())
		within(t, "cut[1] Seen", cut[1].Seen())
		for _, f := range cut {
			f.Remove()
		}
		before := lock.Until()
		eventually(t, "renewed again", func() bool { return lock.Until().After(before.Add(50 * time.Millisecond)) })
		if !lock.Valid() {
			t.Fatal(context.Cause(lock.Context()))
		}
	}
	must(t, lock.Unlock(background))
}

// Traps 14 and 15: unlocks that race renewals. Nothing is left, nothing is
// reported lost.
func TestUnlockRacingRenewal(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	c := d.reached(WithRequestTimeout(2*time.Second), WithTTL(faultTTL))
	const workers, pairs = 200, 50
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for range pairs {
				lock, err := c.TryLock(background, fmt.Sprint("job-", w))
				if err != nil {
					t.Error(err)
					return
				}
				// Renewal is due after 1 s: make it due at about this very moment.
				time.AfterFunc(time.Duration(rand.IntN(2000))*time.Microsecond, func() { c.holds.RenewNow(lock.Name()) })
				time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
				if err := lock.Unlock(background); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for _, r := range d.raw {
		eventually(t, "nothing is left", func() bool {
			keys, err := r.Keys(background, "*:lock:*").Result()
			must(t, err)
			return len(keys) == 0
		})
	}
}

// Trap 9: contenders that start together and split the votes must soon have a
// winner.
func TestSplitVotesResolve(t *testing.T) {
	t.Parallel()
	d := processes(t, 5, redisproc.Config{})
	clients := make([]*Client, 8)
	for i := range clients {
		clients[i] = d.reached()
	}
	for round := range 10 {
		name := fmt.Sprint("job-", round)
		first := make(chan time.Duration, len(clients))
		start := make(chan struct{})
		var begun time.Time
		var all sync.WaitGroup
		for _, c := range clients {
			all.Go(func() {
				<-start
				lock, err := c.Lock(background, name)
				if err != nil {
					t.Error(err)
					return
				}
				first <- time.Since(begun)
				if err := lock.Unlock(background); err != nil {
					t.Error(err)
				}
			})
		}
		begun = time.Now()
		close(start)
		if took := <-first; took > time.Second {
			t.Errorf("the first of %d contenders won after %v", len(clients), took)
		}
		all.Wait()
	}
}

// Who gets too few votes gives them back at once.
func TestSplitVotesAreGivenBack(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 4, func(t *testing.T, d *deployment) {
		a, b := d.reached(), d.reached()
		rival := mustTry(t, b, "job", WithoutWatchdog())
		d.drop(b, "job", 0, 1)
		_, err := a.TryLock(background, "job")
		requireErr(t, err, ErrHeld)
		settled(t, a)
		if got := d.holders("job"); got != "0011" {
			t.Errorf("held on %s", got)
		}
		requireErr(t, rival.Unlock(background), ErrLost)
	})
}

// With a dead and a hung master among five, contenders need all of the other
// three: a split vote must not be kept until the hung one has timed out.
func TestContendersDoNotWaitForAHungMaster(t *testing.T) {
	t.Parallel()
	d := processes(t, 5, redisproc.Config{})
	var clients []*Client
	for range 5 {
		clients = append(clients, d.reached(WithRequestTimeout(time.Second)))
	}
	d.masters[0].die()
	d.masters[1].freeze()
	ctx, cancel := context.WithTimeout(background, 4*time.Second)
	defer cancel()
	var had atomic.Int64
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				if lock, err := c.Lock(ctx, "job"); err == nil {
					had.Add(1)
					if err := lock.Unlock(background); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	d.masters[1].thaw()
	if n := had.Load(); n < 10 { // 4 at most where they wait; on a busy machine, 29 were seen where they do not
		t.Errorf("%d acquisitions in 4 s", n)
	} else {
		t.Logf("%d acquisitions in 4 s", n)
	}
}

// Trap 28: a waiter must not ask all the time.
func TestWaitersAskSeldom(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	a, b := faultClient(d), faultClient(d)
	held := mustTry(t, a, "job", WithTTL(30*time.Second), WithoutWatchdog())
	for _, p := range proxies {
		p.Forget()
	}
	_, err := b.Lock(background, "job", WithWait(2*time.Second))
	requireErr(t, err, ErrHeld)
	for i, p := range proxies {
		if n := p.Count(faultproxy.Match("evalsha")); n > 80 {
			t.Errorf("a waiter sent %d calls to master %d in 2 s", n, i)
		}
	}
	must(t, held.Unlock(background))
}

func TestNoConnectionOutlivesClose(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	var urls []string
	for _, m := range d.masters {
		urls = append(urls, m.(processMaster).URL())
	}
	count := func() int {
		n := 0
		for _, r := range d.raw {
			list, err := r.ClientList(background).Result()
			must(t, err)
			n += strings.Count(list, "\n")
		}
		return n
	}
	before := count()
	c, err := Open(urls)
	must(t, err)
	must(t, c.found(background, 0))
	lock := mustTry(t, c, "job")
	_, err = c.TryLock(background, "job")
	requireErr(t, err, ErrHeld)
	_ = lock
	if count() <= before {
		t.Error("no connection was made: this test counts nothing")
	}
	must(t, c.Close())
	eventually(t, "no connection is left", func() bool { return count() == before })
	if got := d.holders("job"); got != "000" {
		t.Errorf("after Close held on %s", got)
	}
}
