package master_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/rogue"
)

// requirePassword sets the password of every server, and disconnects all clients but raw.
func requirePassword(d *harness.Deployment, password string) {
	d.T.Helper()
	for _, r := range d.Raw {
		harness.Must(d.T, r.ConfigSet(context.Background(), "requirepass", password).Err())
		harness.Must(d.T, r.Do(context.Background(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	}
}

// If a password or database is refused during the handshake, go-redis returns this refusal as the replies to
// the commands. These would look like the replies of a server without a version.
func TestRefusedConnectionReportsCause(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	for _, r := range d.Raw {
		harness.Must(t, r.Do(context.Background(), "ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-info").Err())
	}
	requirePassword(d, "secret")
	for _, refused := range []struct{ userinfo, path, text string }{
		{"", "", "NOAUTH"},
		{":wrong@", "", "WRONGPASS"},
		{":wrong@", "/1", "WRONGPASS"},
		{"nobody:secret@", "", "WRONGPASS"},
		{":secret@", "/99", "DB index is out of range"},
		{"reader:pw@", "", "NOPERM"},
	} {
		c, err := redlock.Open(d.URLs(refused.userinfo, refused.path))
		harness.Must(t, err)
		defer c.Close()
		_, err = c.TryLock(context.Background(), "job")
		harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrNoQuorum)
		requireText(t, err, refused.text, d.Raw[0].Options().Addr)
		requireText(t, admin.Init(context.Background(), c, 0), refused.text, d.Raw[0].Options().Addr)
	}

	c, err := redlock.Open(d.URLs(":secret@", ""))
	harness.Must(t, err)
	defer c.Close()
	harness.Must(t, admin.Init(context.Background(), c, 0))
	harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
	requirePassword(d, "rotated")
	harness.Eventually(t, "the rotated password is told", func() bool {
		_, err = c.TryLock(context.Background(), "job")
		return strings.Contains(fmt.Sprint(err), "WRONGPASS")
	})
	harness.RequireErr(t, err, redlock.ErrNotAcquired, redlock.ErrNoQuorum)
	requirePassword(d, "secret")
	harness.Eventually(t, "locks again", func() bool {
		lock, err := c.TryLock(context.Background(), "job")
		return err == nil && lock.Unlock(context.Background()) == nil
	})
}

// adjusted is a master with a client that a caller made, with other settings.
type adjusted struct {
	harness.Master
	change func(*redis.Options)
}

func (m adjusted) Options() *redis.Options {
	o := m.Master.Options()
	m.change(o)
	return o
}

// A caller's client may have a small pool, or retry. These settings are ignored, because they would delay Close.
func TestCallerClientSettingsAreIgnored(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*redis.Options){
		"PoolSize":       func(o *redis.Options) { o.PoolSize = 1 },
		"MaxActiveConns": func(o *redis.Options) { o.MaxActiveConns = 1 },
		"MaxRetries":     func(o *redis.Options) { o.MaxRetries = 10 },
		"DialerRetries":  func(o *redis.Options) { o.DialerRetries, o.DialerRetryTimeout = 5, 2*time.Second },
		"refused dials":  func(o *redis.Options) { o.PoolSize = 2 },
	} {
		harness.RunInVirtualTime(t, name, 3, func(t *testing.T, d *harness.Deployment) {
			for i, m := range d.Masters {
				d.Masters[i] = adjusted{m, change}
			}
			c := d.Reached(redlock.WithRequestTimeout(d.Request()))
			work := func() {
				time.Sleep(50 * time.Millisecond)
				harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			}
			d.Masters[0].Die()
			for range 30 {
				work()
			}
			d.Masters[0].Revive()
			start := time.Now()
			for !harness.AllUp(c) {
				work()
			}
			if took := time.Since(start); took > 3*master.MaxRetry {
				t.Errorf("a master that is back was used after %v", took)
			}
			d.Masters[0].Die()
			work()
			start = time.Now()
			harness.Must(t, c.Close())
			if took := time.Since(start); took > d.Request() {
				t.Errorf("Close took %v with a dead master", took)
			}
		})
	}
}

// Sentinels and cluster nodes are detected by INFO. They refuse most other commands, but their refusals do not
// show the reason.
func TestNonMastersAreReported(t *testing.T) {
	t.Parallel()
	for _, server := range []struct{ info, refusal, text string }{
		{"redis_version:7.0.15\r\nredis_mode:sentinel\r\n", "-ERR unknown command\r\n", "it is a Sentinel"},
		{"redis_version:7.2.4\r\nvalkey_version:8.1.1\r\nserver_mode:sentinel\r\n", "-ERR unknown command\r\n", "it is a Sentinel"},
		{"redis_version:7.0.15\r\nredis_mode:cluster\r\nrole:master\r\n", "-CLUSTERDOWN Hash slot not served\r\n", "it is a node of a Redis Cluster"},
	} {
		c, err := redlock.Open([]string{"redis://" + rogueServer(t, nil, func(args []string) string {
			if args[0] == "info" {
				return rogue.Bulk(server.info)
			}
			return server.refusal
		})})
		harness.Must(t, err)
		defer c.Close()
		_, err = c.TryLock(context.Background(), "job")
		harness.RequireErr(t, err, redlock.ErrNoQuorum, redlock.ErrNotMember)
		requireText(t, err, server.text)
		err = admin.Init(context.Background(), c, 0)
		harness.RequireErr(t, err, redlock.ErrNotMember)
		requireText(t, err, server.text)
	}
}

func requireText(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(fmt.Sprint(err), w) || strings.Contains(fmt.Sprint(err), "version") {
			t.Errorf("got %v; want one with %q", err, w)
		}
	}
}
