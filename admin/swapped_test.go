package admin_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// swappable are the addresses of masters, of which two can be swapped.
type swappable struct {
	one, other int

	mu      sync.Mutex
	swapped bool
	conns   []*swappedConn
}

// leadsTo returns the server that an address leads to. The caller holds mu.
func (s *swappable) leadsTo(address int) int {
	switch {
	case s.swapped && address == s.one:
		return s.other
	case s.swapped && address == s.other:
		return s.one
	}
	return address
}

// swappedConn is a connection, and whether it has carried an acquire.
type swappedConn struct {
	net.Conn
	to      int // the address
	carried atomic.Bool
}

func (c *swappedConn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("evalsha")) && bytes.Contains(b, []byte("acquire")) {
		c.carried.Store(true)
	}
	return c.Conn.Write(b)
}

// client returns a client on the addresses.
func (s *swappable) client(t *testing.T, d *harness.Deployment) *redlock.Client {
	var servers []*redis.Client
	for i, m := range d.Masters {
		o := m.Options()
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			c, err := d.Masters[s.leadsTo(i)].Options().Dialer(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			s.conns = append(s.conns, &swappedConn{Conn: c, to: i})
			return s.conns[len(s.conns)-1], nil
		}
		servers = append(servers, redis.NewClient(o))
		t.Cleanup(func() { _ = servers[i].Close() })
	}
	return harness.ClientOn(t, servers, d.InTime(harness.RecoveryOptions()...)...)
}

// swap breaks all connections to the two. With keep it leaves those of the first that carried
// acquires.
func (s *swappable) swap(keep bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.swapped = true
	for _, c := range s.conns {
		if c.to == s.other || c.to == s.one && !(keep && c.carried.Load()) {
			_ = c.Close()
		}
	}
}

// When two addresses are swapped (a name that is resolved to another host), and a connection stands
// that leads to the server of before, no server votes for both addresses.
func TestSwappedAddresses(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		s := &swappable{one: 0, other: 1}
		c := s.client(t, d)
		harness.Must(t, harness.Found(context.Background(), c, 0))
		harness.Must(t, harness.MustTry(t, c, "first").Unlock(context.Background()))
		harness.Settled(t, c)
		rival := harness.ClientOn(t, d.Raw[1:], d.InTime(harness.RecoveryOptions()...)...)
		s.swap(true)
		harness.Eventually(t, "all vote again", func() bool {
			if lock, err := c.TryLock(context.Background(), "other"); err == nil {
				_ = lock.Unlock(context.Background()) // it may meet connections that broke
			}
			votes := true
			for _, why := range harness.Inside(c).Members.View().Out {
				votes = votes && why == nil
			}
			return votes && d.Now().Sub(0) > 3*harness.RecoveryMaxTTL
		})
		held := harness.MustTry(t, rival, "job")
		harness.Settled(t, rival)
		if lock, err := c.TryLock(context.Background(), "job"); err == nil {
			t.Errorf("token %v, beside the holder with %v", lock.Token(), held.Token())
		}
		harness.Must(t, held.Unlock(context.Background()))
	})
}

// A member's server comes to another address of the list, and one that is blank to its own. The
// member votes where it is, and the blank server may take the place of another.
func TestAMemberThatMoved(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		s := &swappable{one: 0, other: 3}
		harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...), 0))
		c := s.client(t, d)
		harness.Must(t, harness.MustTry(t, c, "job").Unlock(context.Background()))
		harness.Settled(t, c)
		s.swap(false)
		harness.Eventually(t, "it votes where it is", func() bool {
			if lock, err := c.TryLock(context.Background(), "job"); err == nil {
				_ = lock.Unlock(context.Background()) // it may meet connections that broke
			}
			return harness.Inside(c).Members.View().Out[3] == nil
		})
		d.Masters[1].Die()
		lock, err := c.Lock(context.Background(), "job", redlock.WithWait(10*time.Second))
		harness.Must(t, err)
		harness.Must(t, lock.Unlock(context.Background()))
	})
}

// moving is a client's way to some servers: the address of the first leads to the server that to
// tells.
type moving struct {
	to   atomic.Int32
	open [4]atomic.Int32 // connections, by server
}

type movingConn struct {
	net.Conn
	once sync.Once
	open *atomic.Int32
}

func (c *movingConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// client returns a client on so many masters.
func (m *moving) client(t *testing.T, d *harness.Deployment, masters int) *redlock.Client {
	var servers []*redis.Client
	for i := range masters {
		o := d.Masters[i].Options()
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			server := i
			if i == 0 {
				server = int(m.to.Load())
			}
			at := d.Masters[server].Options()
			dial := at.Dialer
			if dial == nil {
				dial = redis.NewDialer(at)
			}
			c, err := dial(ctx, network, at.Addr)
			if err != nil {
				return nil, err
			}
			m.open[server].Add(1)
			return &movingConn{Conn: c, open: &m.open[server]}, nil
		}
		servers = append(servers, redis.NewClient(o))
		t.Cleanup(func() { _ = servers[i].Close() })
	}
	return harness.ClientOn(t, servers, d.InTime(harness.RecoveryOptions()...)...)
}

// A server that may not be used any more is left, on connections of all kinds that no one cuts, and
// its address is asked again. A client believed what it had heard of a server for as long as it was
// connected to it.
func TestAServerThatIsNoMasterAnyMoreIsLeft(t *testing.T) {
	t.Parallel()
	type change func(t *testing.T, d *harness.Deployment)
	leaves := func(change change) func(t *testing.T, d *harness.Deployment) {
		return func(t *testing.T, d *harness.Deployment) {
			m := new(moving)
			c := m.client(t, d, 3)
			harness.Must(t, harness.Found(context.Background(), c, 0))
			rival := harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...)
			harness.MustTry(t, rival, "held")
			waiter := harness.GoLock(t, c, "held")
			harness.Eventually(t, "the first server can call", func() bool {
				n, err := d.Raw[0].PubSubNumSub(context.Background(), harness.Channel(c)).Result()
				return err == nil && n[harness.Channel(c)] == 1
			})
			harness.Must(t, rival.Close()) // it would bring the first server back
			harness.Must(t, harness.Have(t, waiter).Unlock(context.Background()))
			read := harness.MustTryRead(t, c, "read")
			writer := harness.GoLock(t, c, "read") // so that its subscriptions stand
			d.InLine("read", 1)
			time.Sleep(master.MaxOut) // a younger connection tells where the address leads now
			m.to.Store(3)
			change(t, d)
			harness.Eventually(t, "it votes at the other server, and nothing leads to the first", func() bool {
				if lock, err := c.TryLock(context.Background(), "other"); err == nil {
					_ = lock.Unlock(context.Background())
				}
				return m.open[0].Load() == 0 && m.open[3].Load() > 0 && harness.Inside(c).Members.View().Out[0] == nil
			})
			harness.Must(t, read.Unlock(context.Background()))
			harness.Must(t, harness.Have(t, writer).Unlock(context.Background()))
		}
	}
	for name, change := range map[string]change{
		"emptied": func(_ *testing.T, d *harness.Deployment) { d.Masters[0].(harness.EmbeddedMaster).FlushAll() },
		"another deployment": func(t *testing.T, d *harness.Deployment) {
			d.Masters[0].(harness.EmbeddedMaster).FlushAll()
			harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[:1], d.InTime()...), 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.InVirtualTime(t, 4, leaves(change))
		})
	}
	t.Run("demoted", func(t *testing.T) {
		t.Parallel()
		leaves(func(t *testing.T, d *harness.Deployment) {
			harness.Must(t, d.Raw[0].Do(context.Background(), "replicaof", "127.0.0.1", d.Server(3).Port()).Err())
		})(t, harness.Processes(t, 4, redisproc.Config{}))
	})
}

// A server that was to take the place of a member, as its name led there, is left as well. A client
// that was too few of the members to give it the place was connected to it for ever.
func TestAServerThatWasToTakeAPlaceIsLeft(t *testing.T) {
	t.Parallel()
	harness.InVirtualTime(t, 4, func(t *testing.T, d *harness.Deployment) {
		harness.Must(t, harness.Found(context.Background(), harness.ClientOn(t, d.Raw[:3], d.InTime(harness.RecoveryOptions()...)...), 0))
		m := new(moving)
		m.to.Store(3)
		c := m.client(t, d, 2)
		_, err := c.TryLock(context.Background(), "job")
		if !errors.Is(err, redlock.ErrNoQuorum) {
			t.Fatalf("with one of three members: %v", err)
		}
		harness.Eventually(t, "it is given an id", func() bool {
			return d.Register(3)["id"] != ""
		})
		m.to.Store(0)
		lock, err := c.Lock(context.Background(), "job", redlock.WithWait(10*time.Second))
		harness.Must(t, err)
		harness.Must(t, lock.Unlock(context.Background()))
	})
}
