package redlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// Masters that restart or lose data, on redis-server processes.

// on returns a client that reaches only some of the masters.
func (d *deployment) on(masters []int, opts ...Option) *Client {
	d.t.Helper()
	reach := map[int]bool{}
	for _, i := range masters {
		reach[i] = true
	}
	clients := make([]redis.UniversalClient, len(d.masters))
	for i, m := range d.masters {
		o := m.options()
		if !reach[i] {
			p, err := faultproxy.New(o.Addr)
			must(d.t, err)
			p.Refuse(true)
			d.t.Cleanup(func() { must(d.t, p.Close()) })
			o = master.ClientOptions(&redis.Options{Addr: p.Addr()}, limits.DefaultRequestTimeout)
		}
		one := redis.NewClient(o)
		d.t.Cleanup(func() { _ = one.Close() })
		clients[i] = one
	}
	c, err := New(clients, opts...)
	must(d.t, err)
	d.t.Cleanup(func() { _ = c.Close() })
	return c
}

func (d *deployment) server(i int) *redisproc.Server { return d.masters[i].(processMaster).Server }

// register is what a master's part of the register of members says.
func (d *deployment) register(i int) map[string]string {
	fields, err := d.raw[i].HGetAll(background, script.RegisterKey(limits.DefaultPrefix)).Result()
	if err != nil { // a connection from before a restart
		fields, err = d.raw[i].HGetAll(background, script.RegisterKey(limits.DefaultPrefix)).Result()
	}
	must(d.t, err)
	return fields
}

func dir(s *redisproc.Server, file string) string { return filepath.Join(s.Dir(), file) }

// losses are the ways for a master to lose data; each takes a snapshot of an
// older state first, if it needs one.
var losses = map[string]struct {
	fsync string
	lose  func(t *testing.T, d *deployment, i int)
	older func(t *testing.T, d *deployment, i int)
}{
	"killed and back empty": {"no", func(t *testing.T, d *deployment, i int) {
		d.server(i).Kill()
		must(t, d.server(i).Wipe())
		must(t, d.server(i).Restart())
	}, nil},
	"FLUSHALL": {"no", func(t *testing.T, d *deployment, i int) {
		must(t, d.raw[i].FlushAll(background).Err())
	}, nil},
	"AOF truncated": {"everysec", func(t *testing.T, d *deployment, i int) {
		d.server(i).Kill()
		logs, err := filepath.Glob(dir(d.server(i), "appendonlydir/*.incr.aof"))
		must(t, err)
		stat, err := os.Stat(logs[len(logs)-1])
		must(t, err)
		must(t, os.Truncate(logs[len(logs)-1], min(stat.Size(), d.aofSize)))
		must(t, d.server(i).Restart())
	}, func(t *testing.T, d *deployment, i int) {
		logs, err := filepath.Glob(dir(d.server(i), "appendonlydir/*.incr.aof"))
		must(t, err)
		stat, err := os.Stat(logs[len(logs)-1])
		must(t, err)
		d.aofSize = stat.Size()
	}},
	"old RDB restored": {"", func(t *testing.T, d *deployment, i int) {
		d.server(i).Kill()
		must(t, os.Rename(dir(d.server(i), "old.rdb"), dir(d.server(i), "dump.rdb")))
		must(t, d.server(i).Restart())
	}, func(t *testing.T, d *deployment, i int) {
		must(t, d.raw[i].Save(background).Err())
		must(t, os.Rename(dir(d.server(i), "dump.rdb"), dir(d.server(i), "old.rdb")))
	}},
}

// A holder on masters 0, 1 and 2; master 2 loses data; a
// rival tries with 2, 3 and 4. Never two holders, never a token below or equal.
func TestNobodyGetsInByWayOfAMasterThatForgot(t *testing.T) {
	t.Parallel()
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := processes(t, 5, redisproc.Config{AppendFsync: loss.fsync})
			must(t, mustTry(t, d.reached(recoveryOptions()...), "job").Unlock(background))
			requireFree(t, d, "job")
			rival := d.on([]int{2, 3, 4}, recoveryOptions()...)
			holder := d.on([]int{0, 1, 2}, recoveryOptions()...)
			if loss.older != nil {
				time.Sleep(1100 * time.Millisecond) // let everysec write
				loss.older(t, d, 2)
			}
			// Burn tokens, so that an older state stands lower.
			for range 5 {
				must(t, mustTry(t, holder, "job").Unlock(background))
			}
			lock := mustTry(t, holder, "job", WithoutWatchdog())
			loss.lose(t, d, 2)
			if !lock.Valid() {
				t.Fatal("the loss took too long: nothing is tested")
			}
			// The rival does not reach enough masters to bring the third back in.
			witness := d.client(recoveryOptions()...)
			stop := make(chan struct{})
			var noticing sync.WaitGroup
			noticing.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(20 * time.Millisecond):
						_ = witness.Do(background, "witness", func(context.Context, fence.Token) error { return nil })
					}
				}
			})
			next, err := rival.Lock(background, "job", WithWait(20*time.Second))
			valid := lock.Valid()
			close(stop)
			noticing.Wait()
			must(t, err)
			if valid {
				t.Error("two holders")
			}
			if next.Token() <= lock.Token() {
				t.Errorf("token %d after %d", next.Token(), lock.Token())
			}
			must(t, next.Unlock(background))
		})
	}
}

// Two of five lose everything, one after the other takes place
// with no operator, and the tokens go on growing.
func TestTwoOfFiveWipedComeBack(t *testing.T) {
	t.Parallel()
	d := processes(t, 5, redisproc.Config{})
	c := d.reached(recoveryOptions()...)
	lock := mustTry(t, c, "job")
	last := lock.Token()
	must(t, lock.Unlock(background))
	for _, i := range []int{0, 1} {
		losses["killed and back empty"].lose(t, d, i)
	}
	// The other three go on meanwhile.
	lock = mustTry(t, c, "job")
	if lock.Token() <= last {
		t.Errorf("token %d after %d", lock.Token(), last)
	}
	last = lock.Token()
	must(t, lock.Unlock(background))

	requireFree(t, d, "job")

	// With a client that reaches only one of the others, the two must be back.
	small := d.on([]int{0, 1, 2}, recoveryOptions()...)
	eventually(t, "the wiped masters vote again", func() bool {
		must(t, mustTry(t, c, "other").Unlock(background)) // somebody notices
		lock, err := small.TryLock(background, "job")
		if err != nil {
			if !errors.Is(err, ErrNotMember) && !errors.Is(err, ErrNoQuorum) {
				t.Fatal(err)
			}
			return false
		}
		if lock.Token() <= last {
			t.Errorf("token %d after %d", lock.Token(), last)
		}
		must(t, lock.Unlock(background))
		return true
	})
}

// Masters that lost their data at the same time come back together, and not each after a
// quarantine of its own; one that cannot get its counters keeps nobody waiting.
func TestThoseWipedTogetherComeBackTogether(t *testing.T) {
	t.Parallel()
	for _, full := range []bool{false, true} {
		inVirtualTime(t, 7, func(t *testing.T, d *deployment) {
			c := d.reached(WithMaxTTL(20*time.Second), WithTTL(10*time.Second))
			must(t, mustTry(t, c, "job").Unlock(background))
			for _, i := range []int{0, 2, 3} {
				must(t, d.raw[i].FlushAll(background).Err())
			}
			came := 3
			if full {
				must(t, d.raw[0].ConfigSet(background, "maxmemory", "1").Err())
				came = 2
			}
			for waited := time.Duration(0); ; waited += 100 * time.Millisecond {
				if lock, err := c.TryLock(background, "job"); err == nil { // somebody notices
					must(t, lock.Unlock(background))
				}
				votes := 0
				for _, m := range c.described(t).Members {
					if m.State == membership.Voting {
						votes++
					}
				}
				if waited > time.Second && votes >= 4+came {
					break
				}
				if waited > 25*time.Second {
					t.Fatalf("with a master that is full %t: %d members vote after %v", full, votes, waited)
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
}

// A client that tried again and again to bring a master back learns at once what another one
// made of it, however long it pauses by then.
func TestAClientThatPausesLearnsAtOnce(t *testing.T) {
	t.Parallel()
	for range 5 {
		inVirtualTime(t, 5, func(t *testing.T, d *deployment) {
			first, second := d.reached(), d.reached()
			for _, i := range []int{1, 2} {
				d.masters[i].freeze()
			}
			must(t, d.raw[0].FlushAll(background).Err())
			for _, c := range []*Client{first, second} {
				_, _ = c.TryLock(background, "job") // it notices, and cannot change the members
			}
			time.Sleep(20 * time.Second)
			for _, i := range []int{1, 2} {
				d.masters[i].thaw()
			}
			var other *Client
			eventually(t, "one of them gave the master its place again", func() bool {
				switch {
				case first.members.View().Table.Members[0].State == membership.New:
					other = second
				case second.members.View().Table.Members[0].State == membership.New:
					other = first
				}
				return other != nil
			})
			lock, err := other.TryLock(background, "job")
			must(t, err)
			must(t, lock.Unlock(background))
		})
	}
}

// Clients wait for a random time before they do what all of them may do, so that not all do it at once. Who waits learns
// meanwhile that another one has done it.
func TestAClientThatIsToActLearnsAtOnce(t *testing.T) {
	t.Parallel()
	for range 10 {
		inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
			hasty := WithRequestTimeout(50 * time.Millisecond) // shorter than they wait
			clients := []*Client{d.reached(hasty), d.reached(hasty)}
			must(t, d.raw[0].FlushAll(background).Err())
			for _, c := range clients {
				must(t, mustTry(t, c, "job").Unlock(background)) // it notices
			}
			knows := func(c *Client) bool { return c.members.View().Table.Members[0].State == membership.New }
			eventually(t, "one of them gave the master its place again", func() bool { return slices.ContainsFunc(clients, knows) })
			for _, c := range clients {
				must(t, mustTry(t, c, "job").Unlock(background))
			}
		})
	}
}

// A master that lost one counter lost data: it comes back as a new member.
func TestAMasterThatLostACounterComesBack(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{AppendFsync: "always"})
	c := d.reached(recoveryOptions()...)
	must(t, mustTry(t, c, "job").Unlock(background))
	requireFree(t, d, "job")
	k := script.KeysOf(limits.DefaultPrefix, "job", "")
	before := d.register(0)
	must(t, d.raw[0].Del(background, k.Fence).Err())
	d.masters[1].die()
	_, err := c.TryLock(background, "job")
	requireErr(t, err, ErrNoQuorum, ErrNotMember)
	requireErr(t, c.mustFail(t, "another bucket"), ErrNoQuorum, ErrNotMember)
	d.masters[1].revive()
	eventually(t, "it votes under another id, with its counter", func() bool {
		if lock, err := c.TryLock(background, "job"); err == nil {
			must(t, lock.Unlock(background))
		}
		n, err := d.raw[0].Get(background, k.Fence).Int64()
		is := d.register(0)
		return err == nil && n > time.Now().Add(-time.Hour).UnixMilli() && is["votes"] != "" && is["id"] != before["id"]
	})
}

func TestAMajorityLostNeedsAnOperator(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	c := d.reached(recoveryOptions()...)
	lock := mustTry(t, c, "job")
	last := lock.Token()
	must(t, lock.Unlock(background))
	requireFree(t, d, "job")
	for _, i := range []int{0, 1} {
		losses["FLUSHALL"].lose(t, d, i)
	}
	eventually(t, "it is told that an operator must come", func() bool {
		_, err := c.TryLock(background, "job")
		if err == nil {
			t.Fatal("a majority had lost its data, and it was locked")
		}
		requireErr(t, err, ErrNotAcquired)
		return errors.Is(err, ErrNeedsInit) && errors.Is(d.client(recoveryOptions()...).mustFail(t, "job"), ErrNeedsInit)
	})
	ctx, cancel := context.WithTimeout(background, 10*time.Second)
	defer cancel()
	requireErr(t, c.changeMembers(ctx, suspendMember(d.address(0)), nil), membership.ErrBeyondRepair)
	floor := last + 1_000_000
	must(t, c.foundAnew(background, floor))
	lock, err := c.Lock(background, "job", WithWait(5*time.Second))
	must(t, err)
	if lock.Token() <= floor {
		t.Errorf("token %d, the floor was %d", lock.Token(), floor)
	}
	must(t, lock.Unlock(background))
}

// A power cut: all restart at once. With every write on disk they vote at once, else an
// operator has to say that nothing is held any more; the tokens go on growing.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, fsync := range []string{"always", "everysec"} {
		t.Run(fsync, func(t *testing.T) {
			t.Parallel()
			d := processes(t, 3, redisproc.Config{AppendFsync: fsync})
			c := d.reached(recoveryOptions()...)
			lock := mustTry(t, c, "job", WithoutWatchdog())
			for _, m := range d.masters {
				m.die()
			}
			for _, m := range d.masters {
				m.revive()
			}
			if fsync != "always" {
				eventually(t, "it is told that an operator must come", func() bool {
					return errors.Is(c.mustFail(t, "job"), ErrNeedsInit)
				})
				within(t, "the lease is over", lock.Context().Done())
				must(t, c.foundAnew(background, 0))
			}
			again, err := c.Lock(background, "job", WithWait(20*time.Second))
			must(t, err)
			if lock.Valid() || again.Token() <= lock.Token() {
				t.Errorf("valid %v, token %d after %d", lock.Valid(), again.Token(), lock.Token())
			}
			must(t, again.Unlock(background))
		})
	}
}

// A master that was durable when it got its id, and was set to less since, may
// have forgotten something when it restarts, however it is set then.
func TestDurabilityThatWasTakenBackIsNoted(t *testing.T) {
	t.Parallel()
	for parameter, value := range map[string]string{"appendfsync": "everysec", "no-appendfsync-on-rewrite": "yes", "appendonly": "no"} {
		t.Run(parameter, func(t *testing.T) {
			t.Parallel()
			d := processes(t, 3, redisproc.Config{AppendFsync: "always"})
			must(t, mustTry(t, d.reached(recoveryOptions()...), "job").Unlock(background))
			must(t, d.raw[0].ConfigSet(background, parameter, value).Err())
			d.reached(recoveryOptions()...) // sees it
			before := d.register(0)
			if before["durable"] != "no" {
				t.Errorf("it is noted that it is durable: %v", before)
			}
			d.masters[0].die()
			d.masters[0].revive()
			eventually(t, "it is another member", func() bool {
				lock, err := d.client(recoveryOptions()...).TryLock(background, "job")
				if err != nil || lock.Unlock(background) != nil {
					return false // the machine is busy, say
				}
				is := d.register(0)
				return is["votes"] != "" && is["id"] != before["id"]
			})
		})
	}
}

// A lock that is held with renewal survives a rolling restart, wipe included, of
// every master, with its token.
func TestAHeldLockSurvivesARollingWipe(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	c := d.reached(recoveryOptions()...)
	lock := mustTry(t, c, "job")
	for i := range d.masters {
		losses["killed and back empty"].lose(t, d, i)
		eventually(t, fmt.Sprintf("repaired on master %d", i), func() bool {
			if cause := context.Cause(lock.Context()); cause != nil {
				t.Fatalf("lost while master %d was out: %v", i, cause)
			}
			is := lockOn(t, d.raw[i], "job")
			return is.owner == lock.h.ID && is.grant == lock.Token().String()
		})
		counted(t, lock, i)
	}
	if !lock.Valid() {
		t.Fatal(context.Cause(lock.Context()))
	}
	must(t, lock.Unlock(background))
	next, err := c.Lock(background, "job")
	must(t, err)
	if next.Token() <= lock.Token() {
		t.Errorf("token %d after %d", next.Token(), lock.Token())
	}
	must(t, next.Unlock(background))
}

// A member's clock that is set while another is in quarantine neither cuts that short nor
// makes it longer. Its mark is moved here: that is the same to who reads it.
func TestAQuarantineRestsOnNoMastersClock(t *testing.T) {
	t.Parallel()
	for claim, set := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				c := d.reached(recoveryOptions(WithMaxTTL(5 * master.MaxOut))...) // so long that one that ends early is seen
				d.masters[0].(embeddedMaster).Kill(true)
				d.masters[0].revive()
				lists := func(state string) bool {
					must(t, mustTry(t, c, "job").Unlock(background)) // somebody notices
					return strings.Contains(d.register(1)["table"], state)
				}
				eventually(t, "it is listed as new, and known to be", func() bool { return lists(`"new"`) && d.register(1)["learned"] != "" })
				begin := time.Now()
				mark := begin.Add(-set).UnixMilli()
				must(t, d.raw[1].HSet(background, script.RegisterKey(limits.DefaultPrefix), "learned", mark).Err())
				for lists(`"new"`) && time.Since(begin) < patience {
					time.Sleep(master.MaxOut / 10)
				}
				least := c.members.View().Table.Quarantine()
				if took := time.Since(begin); took < least-master.MaxOut || took > least+master.MaxOut {
					t.Errorf("it was out for %v, want %v", took, least)
				}
			})
		})
	}
}

// Masters without persistence that restart one after the other, or at once, or are
// emptied, are all blank in the end, but no new deployment: the lock is held yet. Nobody
// gets it before an operator says so, and then the tokens go on growing.
func TestMastersThatLoseAllFoundNothing(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		for how, pause := range map[string]time.Duration{"one after the other": recoveryTTL / 10, "at once": 0} {
			t.Run(fmt.Sprint(n, " ", how), func(t *testing.T) {
				t.Parallel()
				inVirtualTime(t, n, func(t *testing.T, d *deployment) {
					holder, rival := d.reached(recoveryOptions()...), d.reached(recoveryOptions()...)
					held := mustTry(t, holder, "job")
					for _, m := range d.masters {
						m.(embeddedMaster).Kill(true)
						m.revive()
						time.Sleep(pause)
						if lock, err := rival.TryLock(background, "other"); err == nil { // clients at work notice
							must(t, lock.Unlock(background))
						}
					}
					_, err := rival.Lock(background, "job", WithWait(5*recoveryMaxTTL), WithWaitForSetup())
					requireErr(t, err, ErrNoQuorum, ErrNeedsInit)
					requireErr(t, d.client(recoveryOptions()...).mustFail(t, "job"), ErrNeedsInit)
					if held.Valid() {
						t.Error("the lease ran on")
					}
					must(t, rival.foundAnew(background, 0))
					lock, err := rival.Lock(background, "job", WithWait(patience))
					must(t, err)
					if lock.Token() <= held.Token() {
						t.Errorf("token %d after %d", lock.Token(), held.Token())
					}
					must(t, lock.Unlock(background))
				})
			})
		}
	}
}

// Masters that were down at the acquisition are topped up by renewal, and a
// repaired vote counts only from the round after the one that made it.
func TestRepairTopsUpAndCountsFromTheNextRound(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		c := d.reached(WithTTL(30 * time.Second))
		d.masters[2].die()
		lock := mustTry(t, c, "job")
		eventually(t, "the acquire is over there", func() bool {
			return lock.h.Master(2).Answered
		})
		d.masters[2].revive()
		var repairedAt, countedAt time.Duration
		start := time.Now()
		for countedAt == 0 {
			time.Sleep(100 * time.Millisecond)
			s := lock.h.Master(2)
			if s.Granted && repairedAt == 0 {
				repairedAt = time.Since(start)
			}
			if s.Until > 0 {
				countedAt = time.Since(start)
			}
			if time.Since(start) > 5*time.Minute {
				t.Fatal("never topped up")
			}
		}
		if got := d.holders("job"); got != "111" {
			t.Errorf("held on %s", got)
		}
		if between := countedAt - repairedAt; between < 9*time.Second || between > 11*time.Second {
			t.Errorf("repaired after %v, counted after %v: want a round (10 s) between", repairedAt, countedAt)
		}
		must(t, lock.Unlock(background))
	})
}

// A repair that comes late must not bring a released lock back.
func TestLateRepairCannotStand(t *testing.T) {
	t.Parallel()
	lateWriteBackCannotStand(t, script.Repair, mustTry)
}

// lateWriteBackCannotStand holds the operation that writes a lock back to a master until the lock is released.
func lateWriteBackCannotStand(t *testing.T, writeBack *script.Operation, try func(*testing.T, *Client, string, ...LockOption) *Lock) {
	t.Helper()
	d, proxies := proxied(t, 3)
	c := d.reached(WithRequestTimeout(faultRequest), WithTTL(faultTTL))
	lock := try(t, c, "job")
	late := proxies[0].Add(on(writeBack, 1, faultproxy.HoldRequest))
	freed := proxies[0].Add(on(script.Undo, 1, faultproxy.Pass))
	d.drop(c, "job", 0)
	within(t, "late Seen", late.Seen())
	must(t, lock.Unlock(background))
	within(t, "freed Answered", freed.Answered())
	late.Release()
	within(t, "late Answered", late.Answered())
	if got := d.holders("job"); got != "000" {
		t.Errorf("held on %s", got)
	}
}

// A replica that is promoted in its master's place has run for long, and may
// have missed what was granted a moment ago: its uptime must not count.
// However durable both are: replication is asynchronous.
func TestAPromotedReplicaSitsOut(t *testing.T) {
	t.Parallel()
	for _, fsync := range []string{"", "always"} {
		t.Run("appendfsync="+fsync, func(t *testing.T) {
			t.Parallel()
			aPromotedReplicaSitsOut(t, redisproc.Config{AppendFsync: fsync})
		})
	}
}

func aPromotedReplicaSitsOut(t *testing.T, cfg redisproc.Config) {
	d := processes(t, 3, cfg)
	c := d.reached(recoveryOptions()...)
	must(t, mustTry(t, c, "job").Unlock(background))
	replica, r := replicaOf(t, d.server(0), cfg)
	eventually(t, "in sync, for longer than a quarantine", func() bool {
		info, err := r.Info(background).Result()
		uptime, _ := strconv.Atoi(membership.ParseInfo(info)["uptime_in_seconds"])
		return err == nil && uptime >= 6
	})
	must(t, r.Do(background, "replicaof", "no", "one").Err())
	d.masters[0].die()
	promoted, err := New([]redis.UniversalClient{r, d.raw[1], d.raw[2]}, recoveryOptions()...)
	must(t, err)
	defer promoted.Close()
	must(t, mustTry(t, promoted, "job").Unlock(background))
	begin := time.Now()
	must(t, promoted.changeMembers(background, replaceMember(d.server(0).Addr(), replica.Addr()), nil))
	if sat := time.Since(begin); sat < recoveryMaxTTL {
		t.Errorf("it votes after %v: what it may have missed was not waited for", sat)
	}
	d.masters[1].die()
	lock, err := promoted.Lock(background, "job", WithWait(patience)) // which needs its vote
	must(t, err)
	must(t, lock.Unlock(background))
}

// A failover to a replica, and back: the first master runs on, under the run id and with the id
// that the replica's copy of its data names, and lacks what it was told in between.
func TestAFailoverAndBackIsALoss(t *testing.T) {
	t.Parallel()
	for _, fsync := range []string{"", "always"} {
		t.Run("appendfsync="+fsync, func(t *testing.T) {
			t.Parallel()
			cfg := redisproc.Config{AppendFsync: fsync}
			d := processes(t, 3, cfg)
			c := d.reached(recoveryOptions()...)
			must(t, mustTry(t, c, "job").Unlock(background))
			settled(t, c)
			replica, r := replicaOf(t, d.server(0), cfg)
			before := d.register(0)["id"]
			must(t, r.Do(background, "replicaof", "no", "one").Err())
			lock := mustTry(t, c, "job")
			settled(t, c) // the replica lacks this
			must(t, d.raw[0].Do(background, "replicaof", "127.0.0.1", replica.Port()).Err())
			eventually(t, "in sync", func() bool {
				info, err := d.raw[0].Info(background).Result()
				return err == nil && membership.ParseInfo(info)["master_link_status"] == "up"
			})
			must(t, d.raw[0].Do(background, "replicaof", "no", "one").Err())
			if is := d.register(0); is["id"] != before || is["votes"] == "" {
				t.Fatalf("the replica's copy is not what the test is about: %v", is)
			}
			d.masters[1].freeze()
			rival := d.stranger(recoveryOptions()...)
			if second, err := rival.TryLock(background, "job"); err == nil {
				t.Errorf("token %d beside the holder with %d", second.Token(), lock.Token())
			}
			if votes := d.register(0)["votes"]; votes != "" {
				t.Errorf("it votes at %s, on connections of before, too", votes)
			}
			d.masters[1].thaw()
			eventually(t, "it is a new member", func() bool {
				if lock, err := rival.TryLock(background, "another"); err == nil {
					must(t, lock.Unlock(background))
				}
				is := d.register(0)
				return is["id"] != before && is["votes"] != "" && is["replid2"] != ""
			})
			must(t, lock.Unlock(background))
		})
	}
}

// replicaOf returns a replica that has all that the master has.
func replicaOf(t *testing.T, of *redisproc.Server, cfg redisproc.Config) (*redisproc.Server, *redis.Client) {
	t.Helper()
	replica, err := redisproc.Start(cfg)
	must(t, err)
	t.Cleanup(func() { must(t, replica.Stop()) })
	r := redis.NewClient(&redis.Options{Addr: replica.Addr()})
	t.Cleanup(func() { _ = r.Close() })
	master := redis.NewClient(&redis.Options{Addr: of.Addr()})
	defer master.Close()
	for _, either := range []*redis.Client{r, master} {
		must(t, either.ConfigSet(background, "repl-diskless-sync-delay", "0").Err()) // by default it waits 5 s for more replicas
	}
	must(t, r.Do(background, "replicaof", "127.0.0.1", of.Port()).Err())
	eventually(t, "in sync, also on disk", func() bool {
		text, err := r.Info(background).Result()
		info := membership.ParseInfo(text)
		return err == nil && info["master_link_status"] == "up" && info["aof_rewrite_in_progress"] == "0" && info["aof_rewrite_scheduled"] == "0"
	})
	return replica, r
}

// Redis says that a server was a replica until it restarts. From then on, what the first
// client that looked has noted there says it, also when that client could do nothing else.
func TestWhoMayHaveForgottenStaysOutAfterARestart(t *testing.T) {
	t.Parallel()
	for _, looked := range []bool{true, false} {
		t.Run(fmt.Sprintf("looked=%t", looked), func(t *testing.T) {
			t.Parallel()
			cfg := redisproc.Config{AppendFsync: "always"}
			d := processes(t, 3, cfg)
			must(t, mustTry(t, d.reached(), "job").Unlock(background))
			replica, r := replicaOf(t, d.server(0), cfg)
			must(t, r.Do(background, "replicaof", "no", "one").Err())
			d.masters[0].die()
			d.masters[1].die()
			if looked {
				c, err := New([]redis.UniversalClient{r})
				must(t, err)
				requireErr(t, c.Ready(background), ErrNotMember)
				must(t, c.Close())
			}
			replica.Kill()
			must(t, replica.Restart())
			c, err := New([]redis.UniversalClient{r, d.raw[2]})
			must(t, err)
			defer c.Close()
			err = c.Ready(background)
			if looked {
				requireErr(t, err, ErrNotMember)
			} else if err != nil { // what docs/OPERATIONS.md warns of, and what shows that this test can fail
				t.Errorf("nothing says that it was a replica: %v", err)
			}
		})
	}
}

// go-redis leaves the commands of a pipeline that got no connection without an
// error: they must not be read as answered.
func TestNoConnectionIsNoAnswer(t *testing.T) {
	t.Parallel()
	d, proxies := proxied(t, 3)
	c := faultClient(d)
	for _, p := range proxies {
		p.Refuse(true)
		p.CutAll()
	}
	for range 3 {
		_, err := c.TryLock(background, "job")
		requireErr(t, err, ErrNoQuorum)
		if errors.Is(err, ErrNotMember) {
			t.Errorf("a reset connection is told as %v", err)
		}
	}
}

// The answer to a repair is lost, and the next renewal repairs again: the master has had the lock since the first
// time. Its clock did not jump, and it votes from the next round on.
func TestARepairThatIsDoneTwiceIsNoJump(t *testing.T) {
	t.Parallel()
	for what, lock := range map[string]func(*Client, string, ...LockOption) (*Lock, error){
		"for writing": func(c *Client, name string, opts ...LockOption) (*Lock, error) {
			return c.TryLock(background, name, opts...)
		},
		"for reading": func(c *Client, name string, opts ...LockOption) (*Lock, error) {
			return c.TryRLock(background, name, opts...)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d, proxies := proxied(t, 3)
			var events recorder
			c := faultClient(d, WithObserver(Observer{ClockJumped: func(_ context.Context, j ClockJump) { events.note("%v", j) }}))
			l, err := lock(c, "job", WithoutWatchdog())
			must(t, err)
			renew := func() {
				t.Helper()
				must(t, l.Extend(background, faultTTL))
				settled(t, c)
			}
			d.drop(c, "job", 0)
			renew()
			repair := script.Repair
			if l.h.Reads.Load() {
				repair = script.Restore
			}
			lost := proxies[0].Add(on(repair, 1, faultproxy.DropReply))
			renew()
			within(t, "it is repaired", lost.Seen())
			if l.h.Master(0).Granted {
				t.Fatal("the answer to the repair was not lost")
			}
			eventually(t, "it is repaired again", func() bool { renew(); return l.h.Master(0).Granted })
			renew()
			until := l.h.Master(0).Until
			if n := events.count(""); n > 0 || !c.now().Before(until) {
				t.Errorf("%d clocks are said to have jumped; the vote counts: %v", n, c.now().Before(until))
			}
			must(t, l.Unlock(background))
		})
	}
}
