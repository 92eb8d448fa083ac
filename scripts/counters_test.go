package scripts_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
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
