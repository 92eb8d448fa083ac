package admin_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// The tests in this file restart masters, or make them lose data, on redis-server processes.

// on returns a client that reaches only some of the masters.
func on(d *harness.Deployment, masters []int, opts ...redlock.Option) *redlock.Client {
	d.T.Helper()
	reach := map[int]bool{}
	for _, i := range masters {
		reach[i] = true
	}
	clients := make([]redis.UniversalClient, len(d.Masters))
	for i, m := range d.Masters {
		o := m.Options()
		if !reach[i] {
			p, err := faultproxy.New(o.Addr)
			harness.Must(d.T, err)
			p.Refuse(true)
			d.T.Cleanup(func() { harness.Must(d.T, p.Close()) })
			o = master.ClientOptions(&redis.Options{Addr: p.Addr()}, limits.DefaultRequestTimeout)
		}
		one := redis.NewClient(o)
		d.T.Cleanup(func() { _ = one.Close() })
		clients[i] = one
	}
	c, err := redlock.New(clients, opts...)
	harness.Must(d.T, err)
	d.T.Cleanup(func() { _ = c.Close() })
	return c
}

func dir(s *redisproc.Server, file string) string { return filepath.Join(s.Dir(), file) }

// losses are the ways to lose data. The function older, if it is set, saves an older state before, which lose restores.
var losses = map[string]struct {
	fsync string
	lose  func(t *testing.T, d *harness.Deployment, i int)
	older func(t *testing.T, d *harness.Deployment, i int)
}{
	"killed and back empty": {"no", func(t *testing.T, d *harness.Deployment, i int) {
		d.Server(i).Kill()
		harness.Must(t, d.Server(i).Wipe())
		harness.Must(t, d.Server(i).Restart())
	}, nil},
	"FLUSHALL": {"no", func(t *testing.T, d *harness.Deployment, i int) {
		harness.Must(t, d.Raw[i].FlushAll(context.Background()).Err())
	}, nil},
	"old RDB restored": {"", func(t *testing.T, d *harness.Deployment, i int) {
		d.Server(i).Kill()
		harness.Must(t, os.Rename(dir(d.Server(i), "old.rdb"), dir(d.Server(i), "dump.rdb")))
		harness.Must(t, d.Server(i).Restart())
	}, func(t *testing.T, d *harness.Deployment, i int) {
		harness.Must(t, d.Raw[i].Save(context.Background()).Err())
		harness.Must(t, os.Rename(dir(d.Server(i), "dump.rdb"), dir(d.Server(i), "old.rdb")))
	}},
}

// A holder has the lock on masters 0, 1 and 2. Master 2 loses data, and a rival tries masters 2, 3 and 4. There are
// never two holders, and tokens grow.
func TestDataLossKeepsExclusion(t *testing.T) {
	t.Parallel()
	for name, loss := range losses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := harness.Processes(t, 5, redisproc.Config{AppendFsync: loss.fsync})
			harness.Must(t, harness.MustTry(t, d.Reached(harness.RecoveryOptions()...), "job").Unlock(context.Background()))
			harness.RequireFree(t, d, "job")
			rival := on(d, []int{2, 3, 4}, harness.RecoveryOptions()...)
			holder := on(d, []int{0, 1, 2}, harness.RecoveryOptions()...)
			if loss.older != nil {
				time.Sleep(1100 * time.Millisecond) // time for appendfsync everysec to write
				loss.older(t, d, 2)
			}
			// Take more tokens, so that an older state has lower counters.
			for range 5 {
				harness.Must(t, harness.MustTry(t, holder, "job").Unlock(context.Background()))
			}
			lock := harness.MustTry(t, holder, "job", redlock.WithoutWatchdog())
			loss.lose(t, d, 2)
			if !lock.Valid() {
				t.Fatal("the loss took too long: nothing is tested")
			}
			// The rival reaches too few masters to bring master 2 back; this client reaches all.
			witness := d.Client(harness.RecoveryOptions()...)
			stop := make(chan struct{})
			var noticing sync.WaitGroup
			noticing.Go(func() {
				for {
					select {
					case <-stop:
						return
					case <-time.After(20 * time.Millisecond):
						_ = witness.Do(context.Background(), "witness", func(context.Context, fence.Token) error { return nil })
					}
				}
			})
			next, err := rival.Lock(context.Background(), "job", redlock.WithWait(20*time.Second))
			valid := lock.Valid()
			close(stop)
			noticing.Wait()
			harness.Must(t, err)
			if valid {
				t.Error("two holders")
			}
			if next.Token() <= lock.Token() {
				t.Errorf("token %d after %d", next.Token(), lock.Token())
			}
			harness.Must(t, next.Unlock(context.Background()))
		})
	}
}

// A master that lost one counter lost data: it comes back as a new member.
func TestLostCounterMakesNewMember(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(harness.RecoveryOptions()...)
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		harness.RequireFree(t, d, "job")
		fence, before := script.KeysOf(limits.DefaultPrefix, "job", "").Fence, d.Register(0)
		harness.Must(t, d.Raw[0].Del(context.Background(), fence).Err())
		d.Masters[1].Die()
		for _, name := range []string{"job", "another"} {
			harness.RequireErr(t, harness.MustFail(t, c, name), redlock.ErrNoQuorum, redlock.ErrNotMember)
		}
		d.Masters[1].Revive()
		harness.Eventually(t, "it votes under another id, with its counter", func() bool {
			time.Sleep(50 * time.Millisecond)
			if lock, err := c.TryLock(context.Background(), "job"); err == nil {
				harness.Must(t, lock.Unlock(context.Background()))
			}
			n, err := d.Raw[0].Get(context.Background(), fence).Int64()
			is := d.Register(0)
			return err == nil && n > time.Now().Add(-time.Hour).UnixMilli() && is["votes"] != "" && is["id"] != before["id"]
		})
	})
}

// All masters restart at once. If every write was on disk, they vote at once. Otherwise they vote only after an
// operator's Init. Tokens grow.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	for _, fsync := range []string{"always", "everysec"} {
		t.Run(fsync, func(t *testing.T) {
			t.Parallel()
			d := harness.Processes(t, 3, redisproc.Config{AppendFsync: fsync})
			c := d.Reached(harness.RecoveryOptions()...)
			lock := harness.MustTry(t, c, "job", redlock.WithoutWatchdog())
			harness.All(d.Masters, harness.Master.Die)
			harness.All(d.Masters, harness.Master.Revive)
			if fsync != "always" {
				harness.Eventually(t, "it is told that an operator must come", func() bool {
					return errors.Is(harness.MustFail(t, c, "job"), redlock.ErrNeedsInit)
				})
				harness.Within(t, "the lease is over", lock.Context().Done())
				harness.Must(t, admin.ForceInit(context.Background(), c, 0))
			}
			next := harness.MustLock(t, c, "job", redlock.WithWait(20*time.Second))
			if lock.Valid() || next.Token() <= lock.Token() {
				t.Errorf("valid %v, token %d after %d", lock.Valid(), next.Token(), lock.Token())
			}
			harness.Must(t, next.Unlock(context.Background()))
		})
	}
}

// If the clock of a member is set during a quarantine, the quarantine lasts as long as before. The test moves the
// member's mark of time instead of the clock.
func TestQuarantineIgnoresMasterClocks(t *testing.T) {
	t.Parallel()
	for claim, set := range map[string]time.Duration{"forward": time.Hour, "back": -time.Hour} {
		harness.RunInVirtualTime(t, claim, 3, func(t *testing.T, d *harness.Deployment) {
			c := d.Reached(harness.RecoveryOptions(redlock.WithMaxTTL(5 * master.MaxOut))...) // so long that the test detects an early end
			d.Masters[0].(harness.EmbeddedMaster).Kill(true)
			d.Masters[0].Revive()
			lists := func(state string) bool {
				harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background())) // so that the client notices the loss
				return strings.Contains(d.Register(1)["table"], state)
			}
			harness.Eventually(t, "it is listed as new, and known to be", func() bool { return lists(`"new"`) && d.Register(1)["learned"] != "" })
			begin := time.Now()
			mark := begin.Add(-set).UnixMilli()
			harness.Must(t, d.Raw[1].HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "learned", mark).Err())
			for lists(`"new"`) && time.Since(begin) < harness.Patience {
				time.Sleep(master.MaxOut / 10)
			}
			least := harness.Inside(c).Members.View().Table.Quarantine()
			if took := time.Since(begin); took < least-master.MaxOut || took > least+master.MaxOut {
				t.Errorf("it was out for %v, want %v", took, least)
			}
		})
	}
}

// Masters without persistence are blank when they have restarted, one by one or at once. They are no new deployment,
// because the lock may still be held. No client acquires it before an operator's Init, and tokens grow.
func TestBlankMastersNeedInit(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		for how, pause := range map[string]time.Duration{"one after the other": harness.RecoveryTTL / 10, "at once": 0} {
			harness.RunInVirtualTime(t, fmt.Sprint(n, " ", how), n, func(t *testing.T, d *harness.Deployment) {
				holder, rival := d.Reached(harness.RecoveryOptions()...), d.Reached(harness.RecoveryOptions()...)
				held := harness.MustTry(t, holder, "job")
				for _, m := range d.Masters {
					m.(harness.EmbeddedMaster).Kill(true)
					m.Revive()
					time.Sleep(pause)
					if lock, err := rival.TryLock(context.Background(), "other"); err == nil { // clients notice the loss while they lock
						harness.Must(t, lock.Unlock(context.Background()))
					}
				}
				_, err := rival.Lock(context.Background(), "job", redlock.WithWait(5*harness.RecoveryMaxTTL), redlock.WithWaitForSetup())
				harness.RequireErr(t, err, redlock.ErrNoQuorum, redlock.ErrNeedsInit)
				harness.RequireErr(t, harness.MustFail(t, d.Client(harness.RecoveryOptions()...), "job"), redlock.ErrNeedsInit)
				if held.Valid() {
					t.Error("the lease ran on")
				}
				harness.Must(t, admin.ForceInit(context.Background(), rival, 0))
				lock := harness.MustLock(t, rival, "job", redlock.WithWait(harness.Patience))
				if lock.Token() <= held.Token() {
					t.Errorf("token %d after %d", lock.Token(), held.Token())
				}
				harness.Must(t, lock.Unlock(context.Background()))
			})
		}
	}
}

// After a failover to a replica and back, the first master has its old run id and its old member id, and lacks the
// writes in between.
func TestFailoverAndBackIsDataLoss(t *testing.T) {
	t.Parallel()
	for _, fsync := range []string{"", "always"} {
		t.Run("appendfsync="+fsync, func(t *testing.T) {
			t.Parallel()
			cfg := redisproc.Config{AppendFsync: fsync}
			d := harness.Processes(t, 3, cfg)
			c := d.Reached(harness.RecoveryOptions()...)
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			harness.Settled(t, c)
			replica, r := replicaOf(t, d.Server(0), cfg)
			before := d.Register(0)["id"]
			harness.Must(t, r.Do(context.Background(), "replicaof", "no", "one").Err())
			lock := harness.MustTry(t, c, "job")
			harness.Settled(t, c) // the replica lacks this lock
			harness.Must(t, d.Raw[0].Do(context.Background(), "replicaof", "127.0.0.1", replica.Port()).Err())
			harness.Eventually(t, "in sync", func() bool {
				info, err := d.Raw[0].Info(context.Background()).Result()
				return err == nil && membership.ParseInfo(info)["master_link_status"] == "up"
			})
			harness.Must(t, d.Raw[0].Do(context.Background(), "replicaof", "no", "one").Err())
			if is := d.Register(0); is["id"] != before || is["votes"] == "" {
				t.Fatalf("the replica's copy is not what the test is about: %v", is)
			}
			d.Masters[1].Freeze()
			rival := d.Stranger(harness.RecoveryOptions()...)
			if second, err := rival.TryLock(context.Background(), "job"); err == nil {
				t.Errorf("token %d beside the holder with %d", second.Token(), lock.Token())
			}
			ofBefore := &lease.Owner{ID: "before", Keys: script.KeysOf(limits.DefaultPrefix, "other", "before")}
			v, err := harness.CallIn(d.Raw[0], ofBefore.AcquireCall(quorum.TermsOf(time.Minute, 0, 0), lease.Place{}))
			if err == nil || v.Answer == script.Granted {
				t.Errorf("it votes on connections of before: %+v", v)
			}
			d.Masters[1].Thaw()
			harness.Eventually(t, "it is a new member", func() bool {
				if lock, err := rival.TryLock(context.Background(), "another"); err == nil {
					harness.Must(t, lock.Unlock(context.Background()))
				}
				is := d.Register(0)
				return is["id"] != before && is["votes"] != "" && is["replid2"] != ""
			})
			_ = lock.Unlock(context.Background()) // it may have expired on a busy machine
		})
	}
}

// replicaOf returns a replica that has all that the master has.
func replicaOf(t *testing.T, of *redisproc.Server, cfg redisproc.Config) (*redisproc.Server, *redis.Client) {
	t.Helper()
	replica, err := redisproc.Start(cfg)
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, replica.Stop()) })
	r := redis.NewClient(&redis.Options{Addr: replica.Addr()})
	t.Cleanup(func() { _ = r.Close() })
	master := redis.NewClient(&redis.Options{Addr: of.Addr()})
	defer master.Close()
	for _, either := range []*redis.Client{r, master} {
		harness.Must(t, either.ConfigSet(context.Background(), "repl-diskless-sync-delay", "0").Err()) // by default it waits 5 s for more replicas
	}
	harness.Must(t, r.Do(context.Background(), "replicaof", "127.0.0.1", of.Port()).Err())
	harness.Eventually(t, "in sync, also on disk", func() bool {
		text, err := r.Info(context.Background()).Result()
		info := membership.ParseInfo(text)
		return err == nil && info["master_link_status"] == "up" && info["aof_rewrite_in_progress"] == "0" && info["aof_rewrite_scheduled"] == "0"
	})
	return replica, r
}

// Redis forgets at a restart that a server was a replica. After that, only the mark of the first client that saw the
// replica shows it.
func TestFormerReplicaStaysOutAfterRestart(t *testing.T) {
	t.Parallel()
	for _, looked := range []bool{true, false} {
		t.Run(fmt.Sprintf("looked=%t", looked), func(t *testing.T) {
			t.Parallel()
			cfg := redisproc.Config{AppendFsync: "always"}
			d := harness.Processes(t, 3, cfg)
			harness.Must(t, harness.MustTry(t, d.Reached(), "job").Unlock(context.Background()))
			replica, r := replicaOf(t, d.Server(0), cfg)
			harness.Must(t, r.Do(context.Background(), "replicaof", "no", "one").Err())
			d.Masters[0].Die()
			d.Masters[1].Die()
			if looked {
				c, err := redlock.New([]redis.UniversalClient{r}, redlock.WithRequestTimeout(redisproc.RequestTimeout))
				harness.Must(t, err)
				harness.RequireErr(t, c.Ready(context.Background()), redlock.ErrNotMember)
				harness.Must(t, c.Close())
			}
			replica.Kill()
			harness.Must(t, replica.Restart())
			c, err := redlock.New([]redis.UniversalClient{r, d.Raw[2]}, redlock.WithRequestTimeout(redisproc.RequestTimeout))
			harness.Must(t, err)
			defer c.Close()
			harness.Eventually(t, "it votes only if nobody looked", func() bool { // docs/OPERATIONS.md warns of this
				err := c.Ready(context.Background())
				return looked && errors.Is(err, redlock.ErrNotMember) || !looked && err == nil
			})
		})
	}
}
