package redlock

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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
func (s *swappable) client(t *testing.T, d *deployment) *Client {
	var servers []*redis.Client
	for i, m := range d.masters {
		o := m.options()
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			c, err := d.masters[s.leadsTo(i)].options().Dialer(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			s.conns = append(s.conns, &swappedConn{Conn: c, to: i})
			return s.conns[len(s.conns)-1], nil
		}
		servers = append(servers, redis.NewClient(o))
		t.Cleanup(func() { _ = servers[i].Close() })
	}
	return clientOn(t, servers, d.inTime(recoveryOptions()...)...)
}

// swap breaks all connections to the two. With keep it leaves those of the first that carried acquires.
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

// When two addresses are swapped (a name that is resolved to another host), and a connection
// stands that leads to the server of before, no server votes for both addresses.
func TestSwappedAddresses(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		s := &swappable{one: 0, other: 1}
		c := s.client(t, d)
		must(t, c.found(background, 0))
		must(t, mustTry(t, c, "first").Unlock(background))
		settled(t, c)
		rival := clientOn(t, d.raw[1:], d.inTime(recoveryOptions()...)...)
		s.swap(true)
		eventually(t, "all vote again", func() bool {
			if lock, err := c.TryLock(background, "other"); err == nil {
				_ = lock.Unlock(background) // it may meet connections that broke
			}
			votes := true
			for _, why := range c.members.View().Out {
				votes = votes && why == nil
			}
			return votes && d.now().Sub(0) > 3*recoveryMaxTTL
		})
		held := mustTry(t, rival, "job")
		settled(t, rival)
		if lock, err := c.TryLock(background, "job"); err == nil {
			t.Errorf("token %v, beside the holder with %v", lock.Token(), held.Token())
		}
		must(t, held.Unlock(background))
	})
}

// A member's server comes to another address of the list, and one that is blank to its own. The
// member votes where it is, and the blank server may take the place of another.
func TestAMemberThatMoved(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 4, func(t *testing.T, d *deployment) {
		s := &swappable{one: 0, other: 3}
		must(t, clientOn(t, d.raw[:3], d.inTime(recoveryOptions()...)...).found(background, 0))
		c := s.client(t, d)
		must(t, mustTry(t, c, "job").Unlock(background))
		settled(t, c)
		s.swap(false)
		eventually(t, "it votes where it is", func() bool {
			if lock, err := c.TryLock(background, "job"); err == nil {
				_ = lock.Unlock(background) // it may meet connections that broke
			}
			return c.members.View().Out[3] == nil
		})
		d.masters[1].die()
		lock, err := c.Lock(background, "job", WithWait(10*time.Second))
		must(t, err)
		must(t, lock.Unlock(background))
	})
}

// moving is a client's way to some servers: the address of the first leads to the server that to tells.
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

// client returns a client on three masters.
func (m *moving) client(t *testing.T, d *deployment) *Client {
	var servers []*redis.Client
	for i := range 3 {
		o := d.masters[i].options()
		o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			server := i
			if i == 0 {
				server = int(m.to.Load())
			}
			at := d.masters[server].options()
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
	return clientOn(t, servers, d.inTime(recoveryOptions()...)...)
}

// A server that may not be used any more is left, on connections of all kinds that no one cuts, and its address is asked
// again. A client believed what it had heard of a server for as long as it was connected to it.
func TestAServerThatIsNoMasterAnyMoreIsLeft(t *testing.T) {
	t.Parallel()
	type change func(t *testing.T, d *deployment)
	leaves := func(change change) func(t *testing.T, d *deployment) {
		return func(t *testing.T, d *deployment) {
			m := new(moving)
			c := m.client(t, d)
			must(t, c.found(background, 0))
			rival := clientOn(t, d.raw[:3], d.inTime(recoveryOptions()...)...)
			mustTry(t, rival, "held")
			waiter := goLock(t, c, "held")
			eventually(t, "the first server can call", func() bool {
				n, err := d.raw[0].PubSubNumSub(background, c.channel).Result()
				return err == nil && n[c.channel] == 1
			})
			must(t, rival.Close()) // it would bring the first server back
			must(t, have(t, waiter).Unlock(background))
			read := mustTryRead(t, c, "read")
			writer := goLock(t, c, "read") // so that its subscriptions stand
			d.inLine("read", 1)
			time.Sleep(master.MaxOut) // a younger connection tells where the address leads now
			m.to.Store(3)
			change(t, d)
			eventually(t, "it votes at the other server, and nothing leads to the first", func() bool {
				if lock, err := c.TryLock(background, "other"); err == nil {
					_ = lock.Unlock(background)
				}
				return m.open[0].Load() == 0 && m.open[3].Load() > 0 && c.members.View().Out[0] == nil
			})
			must(t, read.Unlock(background))
			must(t, have(t, writer).Unlock(background))
		}
	}
	for name, change := range map[string]change{
		"emptied": func(_ *testing.T, d *deployment) { d.masters[0].(embeddedMaster).FlushAll() },
		"another deployment": func(t *testing.T, d *deployment) {
			d.masters[0].(embeddedMaster).FlushAll()
			must(t, clientOn(t, d.raw[:1], d.inTime()...).found(background, 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inVirtualTime(t, 4, leaves(change))
		})
	}
	t.Run("demoted", func(t *testing.T) {
		t.Parallel()
		leaves(func(t *testing.T, d *deployment) {
			must(t, d.raw[0].Do(background, "replicaof", "127.0.0.1", d.server(3).Port()).Err())
		})(t, processes(t, 4, redisproc.Config{}))
	})
}
