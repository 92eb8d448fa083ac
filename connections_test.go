package redlock

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

	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/rogue"
)

// urls are those of a deployment of processes, with userinfo and path in them.
func (d *deployment) urls(userinfo, path string) []string {
	var all []string
	for _, m := range d.masters {
		all = append(all, "redis://"+userinfo+m.(processMaster).Addr()+path)
	}
	return all
}

// requirePassword sets the password of every server, and sends everybody away who
// is connected, but raw.
func (d *deployment) requirePassword(password string) {
	d.t.Helper()
	for _, r := range d.raw {
		must(d.t, r.ConfigSet(background, "requirepass", password).Err())
		must(d.t, r.Do(background, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err())
	}
}

// A server refuses a password or a database while the connection is set up, which
// go-redis tells like a reply to the commands: they read as answered, by a server
// without a version.
func TestRefusedConnectionsSayWhy(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	for _, r := range d.raw {
		must(t, r.Do(background, "ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-info").Err())
	}
	d.requirePassword("secret")
	for _, refused := range []struct{ userinfo, path, says string }{
		{"", "", "NOAUTH"},
		{":wrong@", "", "WRONGPASS"},
		{":wrong@", "/1", "WRONGPASS"},
		{"nobody:secret@", "", "WRONGPASS"},
		{":secret@", "/99", "DB index is out of range"},
		{"reader:pw@", "", "NOPERM"},
	} {
		c, err := Open(d.urls(refused.userinfo, refused.path))
		must(t, err)
		defer c.Close()
		_, err = c.TryLock(background, "job")
		requireErr(t, err, ErrNotAcquired, ErrNoQuorum)
		requireSays(t, err, refused.says, d.raw[0].Options().Addr)
		requireSays(t, c.found(background, 0), refused.says, d.raw[0].Options().Addr)
	}

	c, err := Open(d.urls(":secret@", ""))
	must(t, err)
	defer c.Close()
	must(t, c.found(background, 0))
	must(t, mustTry(t, c, "job").Unlock(background))
	d.requirePassword("rotated")
	eventually(t, "the rotated password is told", func() bool {
		_, err = c.TryLock(background, "job")
		return strings.Contains(fmt.Sprint(err), "WRONGPASS")
	})
	requireErr(t, err, ErrNotAcquired, ErrNoQuorum)
	d.requirePassword("secret")
	eventually(t, "locks again", func() bool {
		lock, err := c.TryLock(background, "job")
		return err == nil && lock.Unlock(background) == nil
	})
}

// adjusted is a master whose client the caller has made with settings of its own.
type adjusted struct {
	testMaster
	change func(*redis.Options)
}

func (m adjusted) options() *redis.Options {
	o := m.testMaster.options()
	m.change(o)
	return o
}

// A pool of one connection, which a link kept, left none to ask past the queue with.
// Retries of commands and of dials kept Close waiting, and a master that was back
// from being used.
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
			inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
				for i, m := range d.masters {
					d.masters[i] = adjusted{m, change}
				}
				c := d.reached(WithRequestTimeout(d.request()))
				work := func() {
					time.Sleep(50 * time.Millisecond)
					must(t, mustTry(t, c, "job").Unlock(background))
				}
				d.masters[0].die()
				for range 30 {
					work()
				}
				d.masters[0].revive()
				start := time.Now()
				for !allUp(c) {
					work()
				}
				if took := time.Since(start); took > 3*master.MaxRetry {
					t.Errorf("a master that is back was used after %v", took)
				}
				d.masters[0].die()
				work()
				start = time.Now()
				must(t, c.Close())
				if took := time.Since(start); took > d.request() {
					t.Errorf("Close took %v with a dead master", took)
				}
			})
		})
	}
}

// A master that was never up, as far as the client knows, is told of too.
func TestAMasterThatIsDownFromTheStartIsTold(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		d.client()
		d.masters[2].die()
		var seen recorder
		c := d.client(WithObserver(Observer{MasterDown: func(MasterStatus) { seen.note("down") }}))
		for range 3 {
			must(t, mustTry(t, c, "job").Unlock(background))
			time.Sleep(time.Minute)
		}
		if told := seen.count("down"); told != 1 {
			t.Errorf("it is told %d times, want once", told)
		}
	})
}

// go-redis logged every dial that a dead master refused, ten a second, to stderr.
func TestADeadMasterIsToldOnceAndNotLogged(t *testing.T) {
	t.Parallel()
	d := processes(t, 3, redisproc.Config{})
	var clients []redis.UniversalClient
	for _, m := range d.masters {
		one := redis.NewClient(&redis.Options{Addr: m.(processMaster).Addr()})
		defer one.Close()
		clients = append(clients, one)
	}
	var seen recorder
	watch := WithObserver(Observer{MasterDown: func(m MasterStatus) { seen.note("%s: %v", m.Master, m.Err) }})
	opened, err := Open(d.urls("", ""), watch)
	must(t, err)
	defer opened.Close()
	made, err := New(clients, watch)
	must(t, err)
	defer made.Close()
	must(t, opened.found(background, 0))
	eventually(t, "all masters are up", func() bool {
		for _, c := range []*Client{opened, made} {
			lock, err := c.Lock(background, "reaching", WithWait(20*time.Second))
			must(t, err)
			must(t, lock.Unlock(background))
		}
		return allUp(opened) && allUp(made)
	})
	d.masters[0].die()
	for _, c := range []*Client{opened, made} {
		lock := mustTry(t, c, "another job")
		_, err := c.Lock(background, "another job", WithWait(time.Second)) // asks, and subscribes
		requireErr(t, err, ErrHeld)
		must(t, lock.Unlock(background))
	}
	dead := d.masters[0].(processMaster).Addr()
	eventually(t, "both are told that it is down", func() bool {
		_, _ = opened.TryLock(background, "any")
		_, _ = made.TryLock(background, "any")
		return seen.count(dead) == 2
	})
	if lines := driverLog.about(dead); len(lines) > 0 {
		t.Errorf("go-redis logged %d lines, the first is %q", len(lines), lines[0])
	}
}

func TestARefusedDialKeepsItsError(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(master.ClientOptions(&redis.Options{Addr: "127.0.0.1:1"}, limits.DefaultRequestTimeout))
	defer client.Close()
	conn := client.Conn()
	defer conn.Close()
	sub := client.Subscribe(background)
	defer sub.Close()
	_, pipelined := conn.Pipelined(background, func(p redis.Pipeliner) error { return p.Ping(background).Err() })
	for what, err := range map[string]error{
		"a command":      client.Ping(background).Err(),
		"a pipeline":     pipelined,
		"a subscription": sub.Subscribe(background, "channel"),
	} {
		requireErr(t, err, syscall.ECONNREFUSED)
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
		c, err := Open([]string{"redis://" + rogueServer(t, nil, func(args []string) string {
			if args[0] == "info" {
				return rogue.Bulk(server.info)
			}
			return server.refusal
		})})
		must(t, err)
		defer c.Close()
		_, err = c.TryLock(background, "job")
		requireErr(t, err, ErrNoQuorum, ErrNotMember)
		requireSays(t, err, server.says)
		err = c.found(background, 0)
		requireErr(t, err, ErrNotMember)
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

// Who waits for any name dials a master that is away, and so do the looks at who votes, the subscriptions and what is asked
// past the queue. A client that started in an outage dialled as often as its waiters asked, without a pause.
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
				inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
					d.client()
					var away atomic.Bool
					var dials [3]atomic.Int64
					away.Store(!started)
					for i, m := range d.masters {
						d.masters[i] = adjusted{m, func(o *redis.Options) {
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
					c := d.client()
					if started {
						must(t, mustTry(t, c, "job").Unlock(background))
						away.Store(true)
						for _, m := range d.masters[1:] {
							m.die()
						}
					}
					ctx, cancel := context.WithCancel(background)
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
