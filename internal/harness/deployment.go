package harness

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testrights"
	"github.com/redlock-go/redlock/internal/testskip"
)

// Deployment has the masters of a test, and the clock that their clients read.
type Deployment struct {
	T       *testing.T
	Masters []Master
	Raw     []*redis.Client // to read and change the masters without the library
	Virtual bool
	Founded bool         // true: the first client need not found the deployment
	Slept   atomic.Int64 // ns that suspensions added to the clock, in virtual time
	Epoch   time.Time
}

// InVirtualTime runs test in a synctest bubble, on n embedded masters, in parallel with other tests.
func InVirtualTime(t *testing.T, n int, test func(t *testing.T, d *Deployment)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &Deployment{T: t, Virtual: true, Epoch: time.Now()}
		for range n {
			s := embedded.New()
			t.Cleanup(s.Close)
			d.Add(EmbeddedMaster{s, t})
		}
		test(t, d)
	})
}

// RunInVirtualTime runs test as InVirtualTime does, in a subtest with that name.
func RunInVirtualTime(t *testing.T, name string, n int, test func(t *testing.T, d *Deployment)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { InVirtualTime(t, n, test) })
}

// OnProcesses runs test on n redis-server processes, in parallel with other tests.
func OnProcesses(t *testing.T, n int, test func(t *testing.T, d *Deployment)) {
	t.Helper()
	t.Parallel()
	OnProgram(t, "", n, test)
}

// OnProgram runs test on n processes of a redis-server program. If program is empty, OnProgram runs the redis-server on
// the PATH.
func OnProgram(t *testing.T, program string, n int, test func(t *testing.T, d *Deployment)) {
	t.Helper()
	test(t, Processes(t, n, redisproc.Config{Program: program, AppendFsync: "always"}))
}

// Processes returns n redis-server processes that belong to no deployment yet. They run until the end of the test.
func Processes(t *testing.T, n int, cfg redisproc.Config) *Deployment {
	t.Helper()
	servers, err := redisproc.StartN(n, cfg)
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	Must(t, err)
	d := &Deployment{T: t}
	for _, s := range servers {
		t.Cleanup(func() { Must(t, s.Stop()) })
		d.Add(ProcessMaster{s, t})
	}
	return d
}

// Add adds a master.
func (d *Deployment) Add(m Master) {
	raw := redis.NewClient(m.Options())
	d.T.Cleanup(func() { _ = raw.Close() })
	d.Masters = append(d.Masters, m)
	d.Raw = append(d.Raw, raw)
}

// TTL is a short lease, and Request the request timeout that goes with it.
func (d *Deployment) TTL() time.Duration     { return d.Either(time.Second, 3*time.Second) }
func (d *Deployment) Request() time.Duration { return d.Either(250*time.Millisecond, time.Second) }

// Either returns virtual in virtual time. Otherwise it returns real, which must be long enough for a busy machine.
func (d *Deployment) Either(virtual, real time.Duration) time.Duration {
	if d.Virtual {
		return virtual
	}
	return real
}

// Now returns the time of the clock of this deployment's clients.
func (d *Deployment) Now() clock.Instant {
	if !d.Virtual {
		return clock.Read()
	}
	return clock.Instant(time.Since(d.Epoch) + time.Duration(d.Slept.Load()))
}

// InTime adds the clock of the deployment's clients to options.
func (d *Deployment) InTime(opts ...redlock.Option) []redlock.Option {
	return append([]redlock.Option{redlock.Inside(core.Key{}).Clock(d.Now)}, opts...)
}

// Client returns a Client on all masters, and closes it at the end of the test. The first call founds the deployment.
func (d *Deployment) Client(opts ...redlock.Option) *redlock.Client {
	d.T.Helper()
	c := d.Stranger(opts...)
	if !d.Founded {
		d.Founded = true
		err := admin.Init(context.Background(), c, 0)
		for deadline := time.Now().Add(Patience); err != nil && !d.Virtual && time.Now().Before(deadline); {
			err = admin.Init(context.Background(), c, 0) // on a busy machine, founding may exceed a request timeout
		}
		Must(d.T, err)
	}
	return c
}

// Stranger returns a Client as Client does, but does not found the deployment.
func (d *Deployment) Stranger(opts ...redlock.Option) *redlock.Client {
	d.T.Helper()
	clients := make([]redis.UniversalClient, len(d.Masters))
	for i, m := range d.Masters {
		one := redis.NewClient(m.Options())
		d.T.Cleanup(func() { _ = one.Close() })
		clients[i] = one
	}
	request := redlock.WithRequestTimeout(d.Either(limits.DefaultRequestTimeout, redisproc.RequestTimeout))
	c, err := redlock.New(clients, d.InTime(append([]redlock.Option{request}, opts...)...)...)
	Must(d.T, err)
	d.T.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, redlock.ErrClosed) {
			d.T.Error(err)
		}
	})
	return c
}

// Reached returns a client that has reached all masters and has their answers.
func (d *Deployment) Reached(opts ...redlock.Option) *redlock.Client {
	d.T.Helper()
	c := d.Client(opts...)
	Eventually(d.T, "all masters are up, and have answered", func() bool {
		up := AllUp(c)
		lock, err := c.Lock(context.Background(), "reaching", redlock.WithWait(20*time.Second))
		Must(d.T, err)
		Must(d.T, lock.Unlock(context.Background()))
		return up
	})
	Settled(d.T, c)
	return c
}

// ClientOn returns a client on these servers.
func ClientOn(t *testing.T, servers []*redis.Client, opts ...redlock.Option) *redlock.Client {
	t.Helper()
	var masters []redis.UniversalClient
	for _, r := range servers {
		masters = append(masters, r)
	}
	c, err := redlock.New(masters, opts...)
	Must(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, redlock.ErrClosed) {
			t.Error(err)
		}
	})
	return c
}

// Address returns the address of a master, as in the table of members.
func (d *Deployment) Address(i int) string { return d.Raw[i].Options().Addr }

// Server returns the process of a master.
func (d *Deployment) Server(i int) *redisproc.Server { return d.Masters[i].(ProcessMaster).Server }

// URLs returns the URLs of a deployment of processes, with userinfo and path in them.
func (d *Deployment) URLs(userinfo, path string) []string {
	var all []string
	for _, m := range d.Masters {
		all = append(all, "redis://"+userinfo+m.(ProcessMaster).Addr()+path)
	}
	return all
}

// URLs returns the URLs of n embedded masters that listen on the loopback, for examples. The masters are founded as a
// deployment.
func URLs(n int) (urls []string, stop func()) {
	var servers []*embedded.Server
	for range n {
		s, err := embedded.NewListening("127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		servers = append(servers, s)
		urls = append(urls, "redis://"+s.Addr())
	}
	client, err := redlock.Open(urls)
	if err == nil {
		err = errors.Join(admin.Init(context.Background(), client, 0), client.Close())
	}
	if err != nil {
		panic(err)
	}
	return urls, func() {
		for _, s := range servers {
			s.Close()
		}
	}
}

// Allow gives a user these rights on all masters, and no other rights.
func (d *Deployment) Allow(user string, rule []string) {
	d.T.Helper()
	for _, r := range d.Raw {
		Must(d.T, testrights.Allow(context.Background(), r, user, rule))
	}
}

// As returns a client that logs in as a user, on the first n masters.
func (d *Deployment) As(user string, n int, opts ...redlock.Option) *redlock.Client {
	d.T.Helper()
	c, err := redlock.Open(d.URLs(user+":pw@", "")[:n], append([]redlock.Option{redlock.WithRequestTimeout(redisproc.RequestTimeout)}, opts...)...)
	Must(d.T, err)
	d.T.Cleanup(func() { Must(d.T, c.Close()) })
	return c
}
