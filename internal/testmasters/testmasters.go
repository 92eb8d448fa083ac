// Package testmasters provides masters for the tests and examples of packages that use the lock through its public API:
// embedded masters, in real or virtual time, or redis-server processes. The masters are already founded as a
// deployment. Only tests may import it.
package testmasters

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// Deployment is a number of masters, all of one kind.
type Deployment struct {
	Embedded []*embedded.Server
	Servers  []*redisproc.Server

	// If Addresses is set, clients use these addresses for the embedded masters. Otherwise they use made-up names
	// without a port.
	Addresses []string

	t     *testing.T
	epoch time.Time
}

// Virtual runs test in a synctest bubble, on n embedded masters, in parallel with other tests.
func Virtual(t *testing.T, n int, test func(t *testing.T, d *Deployment)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &Deployment{t: t, epoch: time.Now()}
		for range n {
			s := embedded.New()
			t.Cleanup(s.Close)
			d.Embedded = append(d.Embedded, s)
		}
		d.found()
		test(t, d)
	})
}

// Processes returns n redis-server processes.
func Processes(t *testing.T, n int) *Deployment {
	t.Helper()
	servers, err := redisproc.StartN(n, redisproc.Config{AppendFsync: "always"})
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	if err != nil {
		t.Fatal(err)
	}
	d := &Deployment{t: t, Servers: servers}
	for _, s := range servers {
		t.Cleanup(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
	d.found()
	return d
}

func (d *Deployment) found() {
	d.t.Helper()
	patient := redlock.WithRequestTimeout(10 * time.Second) // the machine may be busy
	if err := admin.Init(context.Background(), d.Client(patient), 0); err != nil {
		d.t.Fatal(err)
	}
}

// URLs returns the URLs of processes.
func (d *Deployment) URLs() (urls []string) {
	for _, s := range d.Servers {
		urls = append(urls, s.URL())
	}
	return urls
}

// Client returns a client of all masters, and closes it at the end of the test.
func (d *Deployment) Client(opts ...redlock.Option) *redlock.Client {
	d.t.Helper()
	var c *redlock.Client
	var err error
	if d.Embedded == nil {
		c, err = redlock.Open(d.URLs(), append([]redlock.Option{redlock.WithRequestTimeout(redisproc.RequestTimeout)}, opts...)...)
	} else {
		var clients []redis.UniversalClient
		for i, s := range d.Embedded {
			o := s.Options()
			if d.Addresses != nil {
				o.Addr = d.Addresses[i]
			}
			one := redis.NewClient(o)
			d.t.Cleanup(func() { _ = one.Close() })
			clients = append(clients, one)
		}
		now := func() clock.Instant { return clock.Instant(time.Since(d.epoch)) }
		c, err = redlock.New(clients, append([]redlock.Option{redlock.Inside(core.Key{}).Clock(now)}, opts...)...)
	}
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := c.Close(); err != nil && !errors.Is(err, redlock.ErrClosed) {
			d.t.Error(err)
		}
	})
	return c
}

// URLs returns the URLs of n embedded masters that listen on the loopback, for examples.
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
