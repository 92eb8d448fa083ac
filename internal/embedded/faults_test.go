package embedded

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

func wantError(t *testing.T, cmd *redis.Cmd, begins string) {
	t.Helper()
	if err := cmd.Err(); err == nil || !strings.HasPrefix(err.Error(), begins) {
		t.Errorf("%v: got %v; want an error that begins with %q", cmd.Args(), err, begins)
	}
}

func TestSetClock(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx := t.Context()
		now := func(c *redis.Client) time.Duration { return time.Until(c.Time(ctx).Val()) }
		want(t, c.Do(ctx, "SET", "lock", "me", "PX", 10_000), "OK")
		s.SetClock(4 * time.Second)
		want(t, c.Do(ctx, "PTTL", "lock"), "6000")
		s.SetClock(-4 * time.Second)
		want(t, c.Do(ctx, "PTTL", "lock"), "14000")
		if d := now(c); d != -4*time.Second {
			t.Errorf("the clock is off by %s", d)
		}
		s.Kill(false)
		check(t, s.Restart())
		c = client(t, s)
		if d := now(c); d != -4*time.Second {
			t.Errorf("the clock is off by %s after a restart", d)
		}
		s.SetClock(11 * time.Second)
		want(t, c.Do(ctx, "GET", "lock"), "(nil)")
		s.SetClock(0)
		want(t, c.Do(ctx, "GET", "lock"), "(nil)") // the key has expired, and does not return
	})
}

func TestSnapshotAndRestore(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx := t.Context()
		for _, words := range []string{"SET s old PX 10000", "HSET h f old", "ZADD z 1 old", "RPUSH l old"} {
			check(t, c.Do(ctx, wordsOf(words)...).Err())
		}
		backup := s.Snapshot()
		other := New()
		defer other.Close()
		other.Restore(backup)
		for range 2 { // a snapshot can be used again
			for _, words := range []string{"SET s new", "HSET h f new g new", "ZADD z 2 old 3 new", "RPUSH l new", "SET more x"} {
				check(t, c.Do(ctx, wordsOf(words)...).Err())
			}
			s.Kill(false)
			s.Restore(backup)
			check(t, s.Restart())
			c = client(t, s)
			for _, one := range []*redis.Client{c, client(t, other)} {
				want(t, one.Do(ctx, "GET", "s"), "old")
				want(t, one.Do(ctx, "PTTL", "s"), "10000")
				want(t, one.Do(ctx, "HGET", "h", "f"), "old")
				want(t, one.Do(ctx, "HLEN", "h"), "1")
				want(t, one.Do(ctx, "ZSCORE", "z", "old"), "1")
				want(t, one.Do(ctx, "ZCARD", "z"), "1")
				if got := one.LRange(ctx, "l", 0, -1).Val(); !slices.Equal(got, []string{"old"}) {
					t.Errorf("the list is %v", got)
				}
				want(t, one.Do(ctx, "DBSIZE"), "4")
			}
		}
		s.Restore(nil)
		want(t, c.Do(ctx, "DBSIZE"), "0")
	})
}

func wordsOf(command string) []any {
	var words []any
	for _, word := range strings.Fields(command) {
		words = append(words, word)
	}
	return words
}

func TestEvict(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx := t.Context()
		for i := range 100 {
			check(t, c.Set(ctx, fmt.Sprint("k", i), i, 0).Err())
		}
		check(t, c.Set(ctx, "gone", 1, time.Second).Err())
		time.Sleep(2 * time.Second)
		all := s.Snapshot()
		var left [3]string
		for i, seed := range []uint64{1, 1, 2} {
			s.Restore(all)
			if n := s.Evict(0.3, rand.New(rand.NewPCG(seed, 0))); n != 30 {
				t.Errorf("%d of 100 keys are evicted", n)
			}
			keys := c.Keys(ctx, "*").Val()
			if len(keys) != 70 {
				t.Errorf("%d keys are left", len(keys))
			}
			left[i] = fmt.Sprint(keys)
		}
		if left[0] != left[1] || left[0] == left[2] {
			t.Errorf("not chosen by chance alone:\n%s\n%s\n%s", left[0], left[1], left[2])
		}
		if n := s.Evict(1, rand.New(rand.NewPCG(1, 0))); n != 70 {
			t.Errorf("%d of 70 keys are evicted", n)
		}
		want(t, c.Do(ctx, "DBSIZE"), "0")
	})
}

// With an evicting policy, Evict removes keys with an expiry, and INFO counts them.
func TestEvictByPolicy(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx := t.Context()
		for i := range 10 {
			check(t, c.Set(ctx, fmt.Sprint("k", i), i, time.Duration(i%2)*time.Minute).Err())
		}
		want(t, c.Do(ctx, "CONFIG", "SET", "maxmemory-policy", "volatile-lru"), "OK")
		if n := s.Evict(1, rand.New(rand.NewPCG(1, 0))); n != 5 {
			t.Errorf("%d of 5 keys that expire are evicted", n)
		}
		want(t, c.Do(ctx, "DBSIZE"), "5")
		for section, line := range map[string]string{
			"server": "run_id:", "memory": "maxmemory_policy:volatile-lru\r\n", "stats": "evicted_keys:5\r\n", "persistence": "aof_enabled:1\r\n", "replication": "role:master\r\n",
		} {
			part, err := c.Do(ctx, "EVAL", "return redis.call('INFO', ARGV[1])", 0, section).Text()
			check(t, err)
			if whole := c.Info(ctx).Val(); strings.Count(part, "# ") != 1 || !strings.Contains(part, line) || !strings.Contains(whole, part) {
				t.Errorf("INFO %s:\n%s\nof\n%s", section, part, whole)
			}
		}
		wantError(t, c.Do(ctx, "INFO", "server", "memory"), "ERR syntax error")
		s.Kill(false)
		check(t, s.Restart())
		c = client(t, s)
		if policy, evicted := info(t, c, "maxmemory_policy"), info(t, c, "evicted_keys"); policy != "noeviction" || evicted != "0" {
			t.Errorf("after a restart: %s, %s evicted", policy, evicted)
		}
	})
}

// A master whose AOF was off restarts with the old file.
func TestAppendOnlyOffKeepsOldFile(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx := t.Context()
		for _, on := range []bool{false, true} {
			want(t, c.Do(ctx, "SET", "k", "old"), "OK")
			want(t, c.Do(ctx, "CONFIG", "SET", "appendonly", "no"), "OK")
			want(t, c.Do(ctx, "SET", "k", "new"), "OK")
			left := "old"
			if on {
				want(t, c.Do(ctx, "CONFIG", "SET", "appendonly", "yes"), "OK")
				left = "new"
			}
			s.Kill(false)
			check(t, s.Restart())
			c = client(t, s)
			want(t, c.Do(ctx, "GET", "k"), left)
			if aof := info(t, c, "aof_enabled"); aof != "1" {
				t.Errorf("aof_enabled:%s after a restart", aof)
			}
		}
	})
}

func TestFollow(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx, leader := t.Context(), New()
		t.Cleanup(leader.Close)
		of := client(t, leader)
		want(t, of.Do(ctx, "SET", "k", "its"), "OK")
		want(t, c.Do(ctx, "SET", "k", "own"), "OK")
		subscription := c.Subscribe(ctx, "news")
		t.Cleanup(func() { check(t, subscription.Close()) })
		_, err := subscription.Receive(ctx)
		check(t, err)

		s.Follow(leader)
		leader.Follow(s) // a circle of replicas must not relay a message for ever
		s.Follow(leader)
		leader.Follow(nil)
		want(t, c.Do(ctx, "GET", "k"), "its")
		wantError(t, c.Do(ctx, "DEL", "k"), "READONLY")
		wantError(t, c.Do(ctx, "EVAL", "return redis.call('DEL', 'k')", 0), "READONLY")
		want(t, of.Do(ctx, "PUBLISH", "news", "hello"), "0")
		if m, err := subscription.ReceiveMessage(ctx); err != nil || m.Payload != "hello" {
			t.Errorf("%v, %v", m, err)
		}
		if role, slaves := info(t, c, "role"), info(t, of, "connected_slaves"); role != "slave" || slaves != "1" {
			t.Errorf("role %s of a replica, and its master has %s", role, slaves)
		}

		s.Follow(nil)
		want(t, c.Do(ctx, "SET", "k", "own"), "OK")
		if role, was := info(t, c, "role"), info(t, c, "master_replid2"); role != "master" || was == strings.Repeat("0", 40) {
			t.Errorf("role %s, master_replid2 %s of one that was a replica", role, was)
		}
		s.Kill(false)
		s.Follow(leader)
		check(t, s.Restart())
		want(t, client(t, s).Do(ctx, "GET", "k"), "own")
	})
}

func TestOutOfMemory(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx := t.Context()
		const oom = "OOM command not allowed when used memory > 'maxmemory'."
		check(t, c.Set(ctx, "k", "v", time.Minute).Err())
		want(t, c.Do(ctx, "CONFIG", "SET", "maxmemory", "1"), "OK")
		for _, words := range []string{"SET k w", "INCR n", "HSET h f v", "ZADD z 1 m", "APPEND k w", "MSET a b"} {
			wantError(t, c.Do(ctx, wordsOf(words)...), oom)
		}
		for _, words := range []string{"PEXPIRE k 1000", "PERSIST k", "HDEL h f"} {
			check(t, c.Do(ctx, wordsOf(words)...).Err())
		}
		want(t, c.Do(ctx, "GET", "k"), "v")
		wantError(t, c.Do(ctx, "EVAL", "return redis.call('SET', 'k', 'w')", 0), oom)
		want(t, c.Do(ctx, "EVAL", "return redis.pcall('SET', 'k', 'w').err", 0), oom)
		// A script that has written continues: Redis checks the memory only before a script's first write.
		check(t, c.Do(ctx, "EVAL", "redis.call('DEL', 'k') return redis.call('SET', 'k', 'w')", 0).Err())
		want(t, c.Do(ctx, "GET", "k"), "w")

		want(t, c.Do(ctx, "CONFIG", "SET", "maxmemory", "0"), "OK")
		want(t, c.Do(ctx, "SET", "k", "x"), "OK")
		want(t, c.Do(ctx, "CONFIG", "SET", "maxmemory", "1"), "OK")
		s.Kill(false)
		check(t, s.Restart())
		want(t, client(t, s).Do(ctx, "SET", "k", "y"), "OK") // a restart loses what CONFIG SET has set
	})
}

func TestBusy(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		ctx := t.Context()
		const busy = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
		took := func(d time.Duration, do func()) {
			t.Helper()
			begin := time.Now()
			do()
			if got := time.Since(begin).Round(time.Millisecond); got != d {
				t.Errorf("it took %s; want %s", got, d)
			}
		}
		check(t, c.Ping(ctx).Err())
		s.SetBusy(true)
		s.SetBusy(true)
		took(50*time.Millisecond, func() { wantError(t, c.Do(ctx, "SET", "k", "v"), busy) })
		took(0, func() { wantError(t, c.Do(ctx, "PING"), busy) })
		s.SetBusy(false)
		want(t, c.Do(ctx, "EXISTS", "k"), "0")

		// Requests that wait at the end of a busy script are served.
		s.SetBusy(true)
		var wg sync.WaitGroup
		wg.Go(func() { took(20*time.Millisecond, func() { want(t, c.Do(ctx, "SET", "k", "v"), "OK") }) })
		time.Sleep(20 * time.Millisecond)
		s.SetBusy(false)
		wg.Wait()

		wantError(t, c.Do(ctx, "SCRIPT", "KILL"), "NOTBUSY")
		s.SetBusy(true)
		took(0, func() { want(t, c.Do(ctx, "SCRIPT", "KILL"), "OK") })
		want(t, c.Do(ctx, "PING"), "PONG")

		// A busy master that is paused is as silent as any other paused master. After a kill it is no longer busy.
		s.SetBusy(true)
		s.Pause()
		done := make(chan struct{})
		go func() {
			defer close(done)
			took(time.Second, func() { wantError(t, c.Do(ctx, "PING"), busy) })
		}()
		time.Sleep(time.Second)
		s.Resume()
		<-done
		s.Kill(false)
		check(t, s.Restart())
		want(t, client(t, s).Do(ctx, "PING"), "PONG")
		synctest.Wait()
	})
}

func TestRemove(t *testing.T) {
	bubble(t, func(t *testing.T, s *Server, c *redis.Client) {
		want(t, c.Do(t.Context(), "SET", "k", "v", "PX", 1000), "OK")
		s.Kill(false)
		if !s.Remove("k") || s.Remove("k") {
			t.Error("the key of a master that is down")
		}
		check(t, s.Restart())
		c = client(t, s)
		want(t, c.Do(t.Context(), "GET", "k"), "(nil)")
		want(t, c.Do(t.Context(), "SET", "k", "v", "PX", 1000), "OK")
		s.SetClock(time.Minute)
		if s.Remove("k") {
			t.Error("a key that has expired was there")
		}
	})
}
