package master_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/rogue"
)

// requirePassword sets the password of every server, and sends everybody away who is connected, but
// raw.
func requirePassword(d *harness.Deployment, password string) {
	d.T.Helper()
	for _, r := range d.Raw {
		harness.Must(d.T, r.ConfigSet(context.Background(), "requirepass", password).Err())
		harness.Must(d.T, r.Do(context.Background(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	}
}

// A server refuses a password or a database while the connection is set up, which go-redis tells
// like a reply to the commands: they read as answered, by a server without a version.
func TestRefusedConnectionsSayWhy(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	for _, r := range d.Raw {
		harness.Must(t, r.Do(context.Background(), "ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-info").Err())
	}
	requirePassword(d, "secret")
	for _, refused := range []struct{ userinfo, path, says string }{
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
		requireSays(t, err, refused.says, d.Raw[0].Options().Addr)
		requireSays(t, harness.Found(context.Background(), c, 0), refused.says, d.Raw[0].Options().Addr)
	}

	c, err := redlock.Open(d.URLs(":secret@", ""))
	harness.Must(t, err)
	defer c.Close()
	harness.Must(t, harness.Found(context.Background(), c, 0))
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

// adjusted is a master whose client the caller has made with settings of its own.
type adjusted struct {
	harness.Master
	change func(*redis.Options)
}

func (m adjusted) Options() *redis.Options {
	o := m.Master.Options()
	m.change(o)
	return o
}

// A pool of one connection, which a link kept, left none to ask past the queue with. Retries of
// commands and of dials kept Close waiting, and a master that was back from being used.
func TestSettingsOfTheCallersClientsDoNotMatter(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*redis.Options){
		"PoolSize":       func(o *redis.Options) { o.PoolSize = 1 },
		"MaxActiveConns": func(o *redis.Options) { o.MaxActiveConns = 1 },
		"MaxRetries":     func(o *redis.Options) { o.MaxRetries = 10 },
		"DialerRetries":  func(o *redis.Options) { o.DialerRetries, o.DialerRetryTimeout = 5, 2*time.Second },
		"refused dials":  func(o *redis.Options) { o.PoolSize = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
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
		})
	}
}

// A master that was never up, as far as the client knows, is told of too.
func TestAMasterThatIsDownFromTheStartIsTold(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		d.Client()
		d.Masters[2].Die()
		var seen harness.Recorder
		c := d.Client(redlock.WithObserver(redlock.Observer{MasterDown: func(redlock.MasterStatus) { seen.Note("down") }}))
		for range 3 {
			harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
			time.Sleep(time.Minute)
		}
		if told := seen.Count("down"); told != 1 {
			t.Errorf("it is told %d times, want once", told)
		}
	})
}

// go-redis logged every dial that a dead master refused, ten a second, to stderr.
func TestADeadMasterIsToldOnceAndNotLogged(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	var clients []redis.UniversalClient
	for _, m := range d.Masters {
		one := redis.NewClient(&redis.Options{Addr: m.(harness.ProcessMaster).Addr()})
		defer one.Close()
		clients = append(clients, one)
	}
	var seen harness.Recorder
	watch := redlock.WithObserver(redlock.Observer{MasterDown: func(m redlock.MasterStatus) { seen.Note("%s: %v", m.Master, m.Err) }})
	opened, err := redlock.Open(d.URLs("", ""), watch)
	harness.Must(t, err)
	defer opened.Close()
	made, err := redlock.New(clients, watch)
	harness.Must(t, err)
	defer made.Close()
	harness.Must(t, harness.Found(context.Background(), opened, 0))
	harness.Eventually(t, "all masters are up", func() bool {
		for _, c := range []*redlock.Client{opened, made} {
			lock, err := c.Lock(context.Background(), "reaching", redlock.WithWait(20*time.Second))
			harness.Must(t, err)
			harness.Must(t, lock.Unlock(context.Background()))
		}
		return harness.AllUp(opened) && harness.AllUp(made)
	})
	d.Masters[0].Die()
	for _, c := range []*redlock.Client{opened, made} {
		lock := harness.MustTry(t, c, "another job")
		_, err := c.Lock(context.Background(), "another job", redlock.WithWait(time.Second)) // asks, and subscribes
		harness.RequireErr(t, err, redlock.ErrHeld)
		harness.Must(t, lock.Unlock(context.Background()))
	}
	dead := d.Masters[0].(harness.ProcessMaster).Addr()
	harness.Eventually(t, "both are told that it is down", func() bool {
		_, _ = opened.TryLock(context.Background(), "any")
		_, _ = made.TryLock(context.Background(), "any")
		return seen.Count(dead) == 2
	})
	if lines := harness.DriverLog.About(dead); len(lines) > 0 {
		t.Errorf("go-redis logged %d lines, the first is %q", len(lines), lines[0])
	}
}

func TestARefusedDialKeepsItsError(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(master.ClientOptions(&redis.Options{Addr: "127.0.0.1:1"}, limits.DefaultRequestTimeout))
	defer client.Close()
	conn := client.Conn()
	defer conn.Close()
	sub := client.Subscribe(context.Background())
	defer sub.Close()
	_, pipelined := conn.Pipelined(context.Background(), func(p redis.Pipeliner) error { return p.Ping(context.Background()).Err() })
	for what, err := range map[string]error{
		"a command":      client.Ping(context.Background()).Err(),
		"a pipeline":     pipelined,
		"a subscription": sub.Subscribe(context.Background(), "channel"),
	} {
		harness.RequireErr(t, err, syscall.ECONNREFUSED)
		if err.Error() != "dial tcp 127.0.0.1:1: connect: connection refused" {
			t.Errorf("%s fails with %q", what, err)
		}
	}
}

// Sentinels and nodes of clusters refuse most commands, which says less than INFO.
func TestServersThatAreNoMastersAreTold(t *testing.T) {
	t.Parallel()
	for _, server := range []struct{ info, refusal, says string }{
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
		requireSays(t, err, server.says)
		err = harness.Found(context.Background(), c, 0)
		harness.RequireErr(t, err, redlock.ErrNotMember)
		requireSays(t, err, server.says)
	}
}

func requireSays(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(fmt.Sprint(err), w) || strings.Contains(fmt.Sprint(err), "version") {
			t.Errorf("got %v; want one that says %q", err, w)
		}
	}
}

// Who waits for any name dials a master that is away, and so do the looks at who votes, the
// subscriptions and what is asked past the queue. A client that started in an outage dialled as
// often as its waiters asked, without a pause.
func TestAMasterThatIsAwayIsDialledSeldom(t *testing.T) {
	t.Parallel()
	taken := func() (net.Conn, error) { // by what then hangs up
		near, far := net.Pipe()
		return near, far.Close()
	}
	for name, dial := range map[string]func() (net.Conn, error){
		"refused":          func() (net.Conn, error) { return nil, syscall.ECONNREFUSED },
		"taken and closed": taken,
	} {
		for _, started := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, started before: %v", name, started), func(t *testing.T) {
				t.Parallel()
				harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
					d.Client()
					var away atomic.Bool
					var dials [3]atomic.Int64
					away.Store(!started)
					for i, m := range d.Masters {
						d.Masters[i] = adjusted{m, func(o *redis.Options) {
							there := o.Dialer
							o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
								dials[i].Add(1)
								if i > 0 && away.Load() {
									return dial()
								}
								return there(ctx, network, addr)
							}
						}}
					}
					c := d.Client()
					if started {
						harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
						away.Store(true)
						for _, m := range d.Masters[1:] {
							m.Die()
						}
					}
					ctx, cancel := context.WithCancel(context.Background())
					var waiting sync.WaitGroup
					for i := range 100 {
						waiting.Go(func() { _, _ = c.Lock(ctx, fmt.Sprint(i)) })
					}
					for range 5 {
						before := [3]int64{}
						for i := range dials {
							before[i] = dials[i].Load()
						}
						time.Sleep(time.Second)
						for i := range dials {
							if n := dials[i].Load() - before[i]; n > 20 || i > 0 && n < 5 {
								t.Errorf("master %d is dialled %d times within a second", i, n)
							}
						}
					}
					cancel()
					waiting.Wait()
				})
			})
		}
	}
}
