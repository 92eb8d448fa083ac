package admin_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// The tests in this file change settings of masters at run time. Some clients have not seen what other clients saw.

// founded founds a deployment of durable masters with a max ttl of a minute.
func founded(t *testing.T) *harness.Deployment {
	t.Helper()
	d := harness.Processes(t, 3, redisproc.Config{AppendFsync: "always"})
	c := d.Reached(redlock.WithRequestTimeout(time.Second), redlock.WithMaxTTL(time.Minute))
	harness.Must(t, c.Close())
	return d
}

// durableBy returns for each member, in order, whether a master's table has it as durable: y or n.
func durableBy(t *testing.T, d *harness.Deployment, i int) string {
	t.Helper()
	text := ""
	for _, part := range strings.Split(d.Register(i)["table"], `"durable":`)[1:] {
		text += map[bool]string{true: "y", false: "n"}[strings.HasPrefix(part, "true")]
	}
	return text
}

func set(t *testing.T, r *redis.Client, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		harness.Must(t, r.ConfigSet(context.Background(), pairs[i], pairs[i+1]).Err())
	}
}

// A member that becomes less durable votes again when a quorum of the other members has recorded that. If the member
// restarts with a durable file, it is a new member.
func TestMemberLosesDurability(t *testing.T) {
	t.Parallel()
	for parameter, value := range map[string]string{"appendfsync": "everysec", "no-appendfsync-on-rewrite": "yes", "appendonly": "no"} {
		t.Run(parameter, func(t *testing.T) {
			t.Parallel()
			d := harness.Processes(t, 3, redisproc.Config{AppendFsync: "always"})
			c := d.Reached(harness.RecoveryOptions()...)
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			set(t, d.Raw[0], parameter, value)
			harness.Eventually(t, "the others know it, and it votes", func() bool {
				if lock, err := d.Client(harness.RecoveryOptions()...).TryLock(context.Background(), "job"); err == nil {
					_ = lock.Unlock(context.Background())
				}
				return durableBy(t, d, 1) == "nyy" && durableBy(t, d, 2) == "nyy" && durableBy(t, d, 0) == "nyy" && d.Register(0)["votes"] != ""
			})
			before := d.Register(0)["id"]
			d.Masters[0].Die()
			d.Masters[0].Revive()
			harness.Eventually(t, "it is another member", func() bool {
				lock, err := d.Client(harness.RecoveryOptions()...).TryLock(context.Background(), "job")
				if err != nil || lock.Unlock(context.Background()) != nil {
					return false // the machine is busy, for example
				}
				is := d.Register(0)
				return is["votes"] != "" && is["id"] != before
			})
		})
	}
}

// If a member becomes less durable and no quorum records that, the member does not vote. When its settings are
// restored, it votes as durable.
func TestDurableSettingsRestored(t *testing.T) {
	t.Parallel()
	for parameter, values := range map[string][2]string{"appendfsync": {"everysec", "always"}, "appendonly": {"no", "yes"}} {
		t.Run(parameter, func(t *testing.T) {
			t.Parallel()
			d := founded(t)
			d.Masters[2].Die()
			try := func() error { // with a new client each time
				c := d.Stranger(redlock.WithRequestTimeout(time.Second), redlock.WithMaxTTL(time.Minute))
				lock, err := c.TryLock(context.Background(), "job")
				if err == nil {
					err = lock.Unlock(context.Background())
				}
				return errors.Join(err, c.Close())
			}
			set(t, d.Raw[0], parameter, values[0])
			harness.Eventually(t, "nobody locks", func() bool { return try() != nil })
			harness.RequireErr(t, try(), redlock.ErrNoQuorum)
			set(t, d.Raw[0], parameter, values[1])
			harness.Eventually(t, "it votes again", func() bool { return try() == nil })
			if is := d.Register(0); is["durable"] != "yes" || is["weak"] != "" {
				t.Errorf("it is not durable any more: %v", is)
			}
		})
	}
}

// A master that may evict keys refuses to vote. When its settings are right again, it becomes a new
// member.
func TestMastersStartEvicting(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	var down harness.Recorder
	a := d.Reached(harness.RecoveryOptions()...)
	b := d.Reached(harness.RecoveryOptions(redlock.WithObserver(redlock.Observer{MasterDown: func(m redlock.MasterStatus) { down.Note("%v", m.Err) }}))...)
	held := harness.MustTry(t, a, "job")
	harness.Settled(t, a)
	before := d.Register(0)["id"]
	set(t, d.Raw[0], "maxmemory-policy", "volatile-lru", "maxmemory", "3mb")
	harness.Eventually(t, "the lock is evicted", func() bool {
		// A cache on the same server.
		_ = d.Raw[0].Eval(context.Background(), "for i = 1, 500 do redis.call('SET', 'cache:' .. ARGV[1] .. ':' .. i, string.rep('x', 1000), 'EX', 1000) end", nil, time.Now().UnixNano()).Err()
		return d.Raw[0].Exists(context.Background(), lockKey("job")).Val() == 0
	})
	for range 20 {
		valid := held.Valid()
		if second, err := b.TryLock(context.Background(), "job"); err == nil && valid && held.Valid() {
			t.Fatalf("token %d beside the holder of %d", second.Token(), held.Token())
		}
	}
	votes := func() bool {
		if lock, err := b.TryLock(context.Background(), "another"); err == nil {
			_ = lock.Unlock(context.Background())
		}
		return d.Register(0)["votes"] != ""
	}
	harness.Eventually(t, "the observer has the reason", func() bool {
		votes()
		return strings.Contains(strings.Join(down.Events(), "\n"), "it may evict keys")
	})
	set(t, d.Raw[0], "maxmemory", "0", "maxmemory-policy", "noeviction")
	harness.Eventually(t, "it is a new member", func() bool { return votes() && d.Register(0)["id"] != before })
	harness.Must(t, held.Unlock(context.Background()))
}

// A client whose list has a former member checks the settings of the members too.
func TestMemberLosesDurabilityBesideFormerMember(t *testing.T) {
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(harness.RecoveryOptions()...)
		harness.Must(t, admin.ChangeMembers(background, c, admin.RemoveMember(d.Address(3)), nil))
		time.Sleep(time.Minute)
		set(t, d.Raw[0], "appendfsync", "everysec")
		time.Sleep(6 * time.Minute) // clients look at the settings every 5 minutes
		if got := durableBy(t, d, 1); got != "nyy" {
			t.Errorf("durable are %q, want nyy", got)
		}
	})
}
