package admin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testhook"
	"github.com/redlock-go/redlock/internal/testmasters"
	"github.com/redlock-go/redlock/internal/testservers"
)

func TestMain(m *testing.M) {
	harness.Run(m, map[string]func(string) error{tryEnv: beTrying})
}

var background = context.Background()

// maxTTL is short, so that quarantines are.
const maxTTL = 3 * time.Second

func short(opts ...redlock.Option) []redlock.Option {
	return append([]redlock.Option{redlock.WithRequestTimeout(time.Second), redlock.WithTTL(2 * time.Second), redlock.WithMaxTTL(maxTTL)}, opts...)
}

// busy is the request timeout for processes: on a busy machine an answer takes longer than the
// default.
func busy(opts ...redlock.Option) []redlock.Option {
	return append([]redlock.Option{redlock.WithRequestTimeout(time.Second)}, opts...)
}

// onBoth runs test on n embedded masters in virtual time, and on processes of each line of servers.
func onBoth(t *testing.T, n int, test func(t *testing.T, d *testmasters.Deployment)) {
	t.Helper()
	t.Run("virtual", func(t *testing.T) {
		t.Parallel()
		testmasters.Virtual(t, n, test)
	})
	t.Run("processes", func(t *testing.T) {
		t.Parallel()
		testservers.OnAll(t, func(t *testing.T, program string) {
			d := testmasters.Blank(t, n, program)
			harness.Must(t, admin.Init(background, d.Client(redlock.WithRequestTimeout(10*time.Second)), 0))
			test(t, d)
		})
	})
}

func mastersOf(c *redlock.Client) []*master.Master { return core.Of(background, c).Masters }

// settled waits until c reaches all masters that run, and has the answer to everything that it has
// asked.
func settled(t *testing.T, c *redlock.Client, running int) {
	t.Helper()
	harness.Eventually(t, "everything is answered", func() bool {
		up := 0
		for _, m := range mastersOf(c) {
			if m.Pending() > 0 {
				return false
			}
			if m.Usable() {
				up++
			}
		}
		return up >= running
	})
}

// reached returns a client that has reached all masters, and to which all have answered.
func reached(t *testing.T, d *testmasters.Deployment, opts ...redlock.Option) *redlock.Client {
	t.Helper()
	c := d.Client(busy(opts...)...)
	lock, err := c.Lock(background, "reaching", redlock.WithWait(harness.Patience))
	harness.Must(t, err)
	harness.Must(t, lock.Unlock(background))
	settled(t, c, len(d.Raw))
	return c
}

func try(t *testing.T, c *redlock.Client, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	lock, err := c.TryLock(background, name, opts...)
	harness.Must(t, err)
	return lock
}

func inspect(t *testing.T, c *redlock.Client, name string) admin.Inspection {
	t.Helper()
	in, err := admin.Inspect(background, c, name)
	harness.Must(t, err)
	return in
}

func owner(lock *redlock.Lock) string { return testhook.Owner(lock, lock.Name()) }

func lockKey(name string) string { return script.KeysOf(limits.DefaultPrefix, name, "").Lock }

// announced waits until all masters know whose hold it is.
func announced(t *testing.T, d *testmasters.Deployment, lock *redlock.Lock) {
	t.Helper()
	client, _, _ := strings.Cut(owner(lock), ".")
	harness.Eventually(t, "all masters know the client", func() bool {
		for _, r := range d.Raw {
			if r.Exists(background, script.ClientKey(limits.DefaultPrefix, client)).Val() != 1 {
				return false
			}
		}
		return true
	})
}

// inLine waits until so many clients stand in the line of all masters.
func inLine(t *testing.T, d *testmasters.Deployment, name string, n int64) {
	t.Helper()
	harness.Eventually(t, "they stand in line", func() bool {
		for _, r := range d.Raw {
			if r.ZCard(background, script.KeysOf(limits.DefaultPrefix, name, "").Queue).Val() != n {
				return false
			}
		}
		return true
	})
}

// free waits until no master has the lock.
func free(t *testing.T, d *testmasters.Deployment, name string) {
	t.Helper()
	harness.Eventually(t, name+" is free", func() bool {
		for _, r := range d.Raw {
			if r.Exists(background, lockKey(name)).Val() != 0 {
				return false
			}
		}
		return true
	})
}

func address(d *testmasters.Deployment, i int) string { return d.Raw[i].Options().Addr }
