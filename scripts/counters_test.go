package scripts_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// What somebody may have written into a counter, by the name of a lock whose bucket it is.
var corruptions = map[string]func(r *redis.Client, key string) error{
	"job at 2^53-1": func(r *redis.Client, key string) error {
		return r.Set(context.Background(), key, int64(1<<53-1), 0).Err()
	},
	"job at 2^63-1": func(r *redis.Client, key string) error {
		return r.Set(context.Background(), key, int64(math.MaxInt64), 0).Err()
	},
	"job above": func(r *redis.Client, key string) error {
		return r.Set(context.Background(), key, int64(script.MaxCounter+1), 0).Err()
	},
	"job at bound": func(r *redis.Client, key string) error {
		return r.Set(context.Background(), key, int64(script.MaxCounter), 0).Err()
	},
	"job below 0":  func(r *redis.Client, key string) error { return r.Set(context.Background(), key, -5, 0).Err() },
	"job of words": func(r *redis.Client, key string) error { return r.Set(context.Background(), key, "words", 0).Err() },
	"job of a list": func(r *redis.Client, key string) error {
		_, err := r.TxPipelined(context.Background(), func(p redis.Pipeliner) error { // else a survey may write between
			p.Del(context.Background(), key)
			p.RPush(context.Background(), key, "x")
			return nil
		})
		return err
	},
}

// A counter out of range is as good as lost: its master does not vote and says why, nobody takes
// the number over, and when it is a member again it has those of the others.
func TestACorruptCounterIsNotBelieved(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{AppendFsync: "always"})
	c := d.Reached(harness.RecoveryOptions()...)
	before := map[string]fence.Token{}
	for name, corrupt := range corruptions {
		lock := harness.MustTry(t, c, name)
		before[name] = lock.Token()
		harness.Must(t, lock.Unlock(context.Background()))
		harness.RequireFree(t, d, name)
		harness.Must(t, corrupt(d.Raw[0], script.KeysOf(limits.DefaultPrefix, name, "").Fence))
	}
	d.Masters[1].Die()
	for name := range corruptions {
		_, err := c.TryLock(context.Background(), name)
		harness.RequireErr(t, err, redlock.ErrNoQuorum, redlock.ErrNotMember)
		if !strings.Contains(err.Error(), "is missing or corrupt") && !strings.Contains(err.Error(), "it lost") {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.Masters[1].Revive()
	harness.Eventually(t, "master 1 is back, and master 0 is not needed", func() bool {
		for name := range corruptions {
			lock, err := c.TryLock(context.Background(), name)
			if err != nil {
				return false
			}
			if token := lock.Token(); token <= before[name] || token > before[name]+1000 {
				t.Fatalf("%s: token %d after %d", name, token, before[name])
			}
			before[name] = lock.Token()
			harness.Must(t, lock.Unlock(context.Background()))
		}
		return true
	})
	harness.Eventually(t, "the counters are back", func() bool {
		for name := range corruptions {
			if lock, err := c.TryLock(context.Background(), name); err == nil {
				harness.Must(t, lock.Unlock(context.Background()))
			}
			n, err := d.Raw[0].Get(context.Background(), script.KeysOf(limits.DefaultPrefix, name, "").Fence).Uint64()
			if err != nil || n < uint64(before[name]) || n > uint64(before[name])+1000 {
				return false
			}
		}
		return true
	})
}

// The scripts' arithmetic about the edges of what a counter may be, on both kinds of master. Lua
// counts in doubles.
func TestCountersStayInRange(t *testing.T) {
	t.Parallel()
	fake := embedded.New()
	t.Cleanup(fake.Close)
	both := []*redis.Client{redis.NewClient(fake.Options()), harness.Processes(t, 1, redisproc.Config{}).Raw[0]}
	t.Cleanup(func() { _ = both[0].Close() })
	edge := rapid.Custom(func(t *rapid.T) int64 {
		about := rapid.SampledFrom([]int64{0, script.MaxFloor, script.MaxCounter, 1 << 53, math.MaxInt64 - 40, math.MinInt64 + 40}).Draw(t, "about")
		return about + rapid.Int64Range(-40, 40).Draw(t, "and")
	})
	k := script.KeysOf(limits.DefaultPrefix, "job", "me")
	h := &lease.Owner{ID: "me", Keys: k}
	terms := quorum.TermsOf(limits.DefaultTTL, 0, 0)
	rapid.Check(t, func(t *rapid.T) {
		was := edge.Draw(t, "counter")
		h.Token = fence.Token(rapid.Int64Range(script.MaxCounter-80, script.MaxCounter).Draw(t, "token"))
		inRange := was >= 1 && was <= script.MaxCounter
		for kind, r := range both {
			set := func() {
				must2(t, r.FlushAll(context.Background()).Err())
				must2(t, memberOfOne(r))
				must2(t, r.Set(context.Background(), k.Fence, was, 0).Err())
			}
			counter := func() string { return r.Get(context.Background(), k.Fence).Val() }

			set()
			v, err := harness.CallIn(script.BatchSource, r, h.AcquireCall(terms, lease.Place{}))
			if able := was >= 1 && was < script.MaxCounter; able && (err != nil || v.Answer != script.Granted || v.Grant != was+1) ||
				!able && !redis.HasErrorPrefix(err, "NOTMEMBER") {
				t.Fatalf("master %d, counter %d: acquire says %+v, %v", kind, was, v, err)
			}
			if v.Answer == script.Granted && err == nil {
				v, err = harness.CallIn(script.BatchSource, r, h.ConfirmCall(v.Grant))
				if err != nil || v.Answer != script.Granted || counter() != fmt.Sprint(max(was+1, int64(h.Token))) {
					t.Fatalf("master %d, counter %d: confirm of %d says %+v, %v, and leaves %s", kind, was, h.Token, v, err, counter())
				}
			} else if r.HExists(context.Background(), script.RegisterKey(limits.DefaultPrefix), "votes").Val() {
				t.Fatalf("master %d, counter %d: not granted, and it votes on", kind, was)
			}

			set()
			v, err = harness.CallIn(script.BatchSource, r, h.RepairCall(1, terms))
			if inRange && (err != nil || v.Answer != script.Granted || counter() != fmt.Sprint(max(was, int64(h.Token)))) ||
				!inRange && (!redis.HasErrorPrefix(err, "NOTMEMBER") || counter() != fmt.Sprint(was)) {
				t.Fatalf("master %d, counter %d: repair at %d says %+v, %v, and leaves %s", kind, was, h.Token, v, err, counter())
			}

			set()
			keys := []string{script.RegisterKey(limits.DefaultPrefix), k.Fence}
			told, err := redis.NewScript(script.CountersSource).Run(context.Background(), r, keys, "one", "1").StringSlice()
			if inRange && (err != nil || told[0] != fmt.Sprint(was)) || !inRange && !redis.HasErrorPrefix(err, "NOTMEMBER") {
				t.Fatalf("master %d, counter %d: told as %v, %v", kind, was, told, err)
			}
			set()
			must2(t, redis.NewScript(script.SyncSource).Run(context.Background(), r, keys, "one", "1", "", int64(h.Token)).Err())
			least := int64(h.Token)
			if inRange && was < script.MaxCounter { // one at its bound can count no more
				least = max(least, was)
			}
			if counter() != fmt.Sprint(least) {
				t.Fatalf("master %d, counter %d: raised to %s, at least %d", kind, was, counter(), h.Token)
			}

			set() // a member's own is not mended: its loss would go unnoticed
			must2(t, r.HDel(context.Background(), keys[0], "synced").Err())
			must2(t, redis.NewScript(script.SyncSource).Run(context.Background(), r, keys, "one", "1", "1", int64(h.Token)).Err())
			stands := was
			if inRange {
				stands = max(int64(h.Token), was)
			}
			if synced := r.HExists(context.Background(), keys[0], "synced").Val(); counter() != fmt.Sprint(stands) || synced {
				t.Fatalf("master %d, counter %d: a member's own is raised to %s, at least %d; it has those of the others: %t", kind, was, counter(), h.Token, synced)
			}
		}
	})
}

// memberOfOne makes a server the only member of a deployment: its id is "one", the version "1".
func memberOfOne(r *redis.Client) error {
	info, err := r.Info(context.Background()).Result()
	if err != nil {
		return err
	}
	return r.HSet(context.Background(), script.RegisterKey(limits.DefaultPrefix), "deployment", "d", "id", "one", "run", membership.ParseInfo(info)["run_id"],
		"durable", "no", "promised", "1", "version", "1", "table", oneMember, "maxTTL", "60000", "votes", "one@1", "evicted", "0").Err()
}

func must2(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A number that no script of ours can have replied is no vote.
func FuzzVotes(f *testing.F) {
	for _, n := range []int64{0, 1, -1, 2, -2, 7, script.MaxCounter, script.MaxCounter + 1, 1 << 53, math.MaxInt64, math.MinInt64, math.MinInt64 + 1,
		-script.MinTicket, -script.MinTicket - 1, -script.MinTicket + 1, -1500000000000000, -1 << 53, -1<<53 - 1} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		for _, s := range []*script.Operation{script.Acquire, script.Confirm, script.Extend, script.Release, script.Leave, script.Repair, script.Verify} {
			switch v := s.Read(n); v.Answer {
			case script.Granted:
				if s == script.Acquire && v.Grant != n || v.Grant < 0 || v.Grant > script.MaxCounter || v.Remaining < 0 {
					t.Errorf("%s: %d is read as %+v", s.Name, n, v)
				}
			case script.Held:
				if s != script.Acquire && s != script.Release || v.Remaining < 0 || v.Ticket < 0 || v.Ticket > 1<<53 {
					t.Errorf("%s: %d is read as %+v", s.Name, n, v)
				}
			case script.Refused:
				if v.Err == nil || v.Err == script.ErrNotMine && n != 0 && n != -1 {
					t.Errorf("%s: %d is read as %+v", s.Name, n, v)
				}
			default:
				t.Errorf("%s: %d is read as %+v", s.Name, n, v)
			}
		}
	})
}
