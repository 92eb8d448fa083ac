package admin_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/script"
)

// Masters whose settings are changed at run time, and clients in processes of their own, which know
// nothing of what others saw.

// tryEnv makes this test binary a client of the masters that it names, which tries once for "job"
// and prints what came of it. It holds the lock until its input ends.
const tryEnv = "REDLOCK_TEST_TRY"

func beTrying(masters string) error {
	c, err := redlock.Open(strings.Split(masters, ","), harness.RecoveryOptions(redlock.WithMaxTTL(time.Minute), redlock.WithTTL(20*time.Second))...)
	if err != nil {
		return err
	}
	lock, err := c.TryLock(context.Background(), "job")
	if err != nil {
		fmt.Println("failed", err)
		return c.Close()
	}
	fmt.Println("token", lock.Token())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("valid", lock.Valid())
	}
	return errors.Join(lock.Unlock(context.Background()), c.Close())
}

func tryAlone(t *testing.T, d *harness.Deployment) *harness.Child {
	t.Helper()
	var urls []string
	for i := range d.Masters {
		urls = append(urls, d.Server(i).URL())
	}
	return harness.StartChild(t, tryEnv, strings.Join(urls, ","))
}

// triedAlone is what such a process says. It ends, and unlocks.
func triedAlone(t *testing.T, d *harness.Deployment) string {
	t.Helper()
	p := tryAlone(t, d)
	first := p.Line()
	p.CloseInput()
	_ = p.Wait()
	return first
}

// founded founds a deployment of durable masters with a max ttl of a minute.
func founded(t *testing.T) *harness.Deployment {
	t.Helper()
	d := harness.Processes(t, 3, redisproc.Config{AppendFsync: "always"})
	c := d.Reached(redlock.WithRequestTimeout(time.Second), redlock.WithMaxTTL(time.Minute))
	harness.Must(t, c.Close())
	return d
}

// durableBy is what a master's table says of the members in order: y, it is durable; n, it is not.
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

// A durable member that is set to less at run time votes again when a quorum of the others knows
// that; when it restarts by the file that says that it is durable, it is another member.
func TestAMemberThatIsNotDurableAnyMore(t *testing.T) {
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

// Without a quorum of others that could note it, such a member does not vote; and votes as a
// durable one when its settings are again what they were.
func TestDurableSettingsThatAreSetBack(t *testing.T) {
	t.Parallel()
	for parameter, values := range map[string][2]string{"appendfsync": {"everysec", "always"}, "appendonly": {"no", "yes"}} {
		t.Run(parameter, func(t *testing.T) {
			t.Parallel()
			d := founded(t)
			d.Masters[2].Die()
			set(t, d.Raw[0], parameter, values[0])
			refused := func() bool { return strings.HasPrefix(triedAlone(t, d), "failed redlock: no quorum") }
			harness.Eventually(t, "nobody locks", refused)
			if !refused() {
				t.Error("it votes")
			}
			set(t, d.Raw[0], parameter, values[1])
			harness.Eventually(t, "it votes again", func() bool { return strings.HasPrefix(triedAlone(t, d), "token ") })
			if is := d.Register(0); is["durable"] != "yes" || is["weak"] != "" {
				t.Errorf("it is not durable any more: %v", is)
			}
		})
	}
}

// The AOF of one master is switched off for a while, and it restarts by the file of before, with
// the data of before. No process that comes then takes it for what it was.
func TestARestartByTheOldFile(t *testing.T) {
	t.Parallel()
	d := founded(t)
	if first := triedAlone(t, d); !strings.HasPrefix(first, "token ") {
		t.Fatal(first)
	}
	before := d.Register(0)["id"]
	set(t, d.Raw[0], "appendonly", "no")
	harness.Eventually(t, "it votes as a member that is not durable", func() bool {
		triedAlone(t, d)
		return durableBy(t, d, 0) == "nyy" && d.Register(0)["votes"] != ""
	})
	d.Masters[2].Die()
	holder := tryAlone(t, d) // of masters 0 and 1
	held := holder.Line()
	if !strings.HasPrefix(held, "token ") {
		t.Fatal(held)
	}
	token, err := strconv.ParseInt(strings.Fields(held)[1], 10, 64)
	harness.Must(t, err)
	d.Masters[2].Revive()
	d.Masters[0].Die()
	d.Masters[0].Revive()
	for range 5 {
		if rival := triedAlone(t, d); !strings.HasPrefix(rival, "failed ") {
			t.Errorf("%s beside %s", rival, held)
		}
	}
	if holder.Ask() != "valid true" {
		t.Error("the holder lost its lock, which two masters have")
	}
	if is := d.Register(0); is["id"] == before && is["run"] == runOf(t, d.Raw[0]) {
		t.Error("it votes under the id of before")
	}
	holder.CloseInput()
	_ = holder.Wait()
	next := triedAlone(t, d)
	if n, err := strconv.ParseInt(strings.TrimPrefix(next, "token "), 10, 64); err != nil || n <= token {
		t.Errorf("then: %s, after %s", next, held)
	}
}

func runOf(t *testing.T, r *redis.Client) string {
	t.Helper()
	_ = r.Ping(context.Background()) // the connection may be one of before
	info, err := r.Info(context.Background(), "server").Result()
	harness.Must(t, err)
	return membership.ParseInfo(info)["run_id"]
}

// Masters that begin to evict while clients are connected refuse to vote; those that evicted are
// new members when they evict no more.
func TestMastersThatBeginToEvict(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d of 3", n), func(t *testing.T) {
			t.Parallel()
			d := harness.Processes(t, 3, redisproc.Config{})
			var mu sync.Mutex
			var down []string
			options := harness.RecoveryOptions
			if n == 3 { // the holder renews seldom, and does not repair what was evicted
				options = func(opts ...redlock.Option) []redlock.Option {
					return append(opts, redlock.WithRequestTimeout(time.Second), redlock.WithTTL(40*time.Second), redlock.WithMaxTTL(time.Minute))
				}
			}
			a := d.Reached(options()...)
			b := d.Reached(options(redlock.WithObserver(redlock.Observer{MasterDown: func(m redlock.MasterStatus) {
				mu.Lock()
				defer mu.Unlock()
				down = append(down, m.Err.Error())
			}}))...)
			harness.Must(t, harness.MustTry(t, b, "warm").Unlock(context.Background())) // it is connected
			held := harness.MustTry(t, a, "job")
			lockKey := script.KeysOf(limits.DefaultPrefix, "job", "").Lock
			harness.Settled(t, a)
			before := d.Register(0)["id"]
			for _, r := range d.Raw[:n] {
				set(t, r, "maxmemory-policy", "volatile-lru", "maxmemory", "3mb")
			}
			for i, r := range d.Raw[:n] {
				harness.Eventually(t, fmt.Sprint("the lock is evicted on master ", i), func() bool {
					// A cache on the same server.
					_ = r.Eval(context.Background(), "for i = 1, 500 do redis.call('SET', 'cache:' .. ARGV[1] .. ':' .. i, string.rep('x', 1000), 'EX', 1000) end", nil, time.Now().UnixNano()).Err()
					return r.Exists(context.Background(), lockKey).Val() == 0
				})
			}
			for range 20 {
				valid := held.Valid()
				if second, err := b.TryLock(context.Background(), "job"); err == nil && valid && held.Valid() {
					t.Fatalf("token %d beside the holder of %d", second.Token(), held.Token())
				}
			}
			harness.Eventually(t, "the observer has the reason", func() bool {
				_, _ = b.TryLock(context.Background(), "another")
				mu.Lock()
				defer mu.Unlock()
				return strings.Contains(strings.Join(down, "\n"), "it may evict keys")
			})
			if n == 3 {
				return // only an init can mend that
			}
			set(t, d.Raw[0], "maxmemory", "0", "maxmemory-policy", "noeviction")
			harness.Eventually(t, "it is a new member", func() bool {
				if lock, err := b.TryLock(context.Background(), "another"); err == nil {
					_ = lock.Unlock(context.Background())
				}
				is := d.Register(0)
				return is["id"] != before && is["votes"] != ""
			})
			harness.Must(t, held.Unlock(context.Background()))
		})
	}
}
