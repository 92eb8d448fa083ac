package harness

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// Master is a master that tests can break: an embedded one in virtual time, or a redis-server.
type Master interface {
	Die()    // crash; the data is kept
	Revive() // start again after Die
	Freeze() // stop answering, as SIGSTOP does
	Thaw()
	Options() *redis.Options // of a client with the library's settings
}

// EmbeddedMaster is a master in the test's process, for virtual time.
type EmbeddedMaster struct {
	*embedded.Server
	t *testing.T
}

func (m EmbeddedMaster) Die()                    { m.Kill(false) }
func (m EmbeddedMaster) Revive()                 { Must(m.t, m.Restart()) }
func (m EmbeddedMaster) Freeze()                 { m.Pause() }
func (m EmbeddedMaster) Thaw()                   { m.Resume() }
func (m EmbeddedMaster) Options() *redis.Options { return m.Server.Options() }

// ProcessMaster is a redis-server process.
type ProcessMaster struct {
	*redisproc.Server
	t *testing.T
}

func (m ProcessMaster) Die()    { m.Kill() }
func (m ProcessMaster) Revive() { Must(m.t, m.Restart()) }
func (m ProcessMaster) Freeze() { Must(m.t, m.Pause()) }
func (m ProcessMaster) Thaw()   { Must(m.t, m.Resume()) }

func (m ProcessMaster) Options() *redis.Options {
	return master.ClientOptions(&redis.Options{Addr: m.Addr()}, 2*time.Second) // so a request to a frozen master takes 2 s
}

// Named is a master that clients call by this address.
type Named struct {
	Master
	Address string
}

func (m Named) Options() *redis.Options {
	o := *m.Master.Options()
	o.Addr = m.Address
	return &o
}

// All calls a function, for example Master.Freeze, with each of the masters.
func All(masters []Master, do func(Master)) {
	for _, m := range masters {
		do(m)
	}
}

// Wrapped returns options for a client of a master. The function wrap wraps each connection of this client.
func Wrapped(m Master, wrap func(net.Conn) net.Conn) *redis.Options {
	o := m.Options()
	dial := o.Dialer
	if dial == nil {
		dial = redis.NewDialer(o)
	}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return wrap(conn), nil
	}
	return o
}

// Mortal returns a client on all masters. The client seems to die after the given number of messages: each later
// write is dropped, and closes its connection. left is the number of messages that are left. A test may change it.
func (d *Deployment) Mortal(messages int64, opts ...redlock.Option) (c *redlock.Client, left *atomic.Int64) {
	d.T.Helper()
	left = new(atomic.Int64)
	left.Store(messages)
	whole := d.Masters
	defer func() { d.Masters = whole }()
	d.Masters = nil
	for _, m := range whole {
		d.Masters = append(d.Masters, mortalMaster{m, left})
	}
	return d.Stranger(opts...), left
}

type mortalMaster struct {
	Master
	left *atomic.Int64
}

func (m mortalMaster) Options() *redis.Options {
	return Wrapped(m.Master, func(conn net.Conn) net.Conn { return mortalConn{conn, m.left} })
}

type mortalConn struct {
	net.Conn
	left *atomic.Int64
}

func (c mortalConn) Write(p []byte) (int, error) {
	if c.left.Add(-1) < 0 {
		_ = c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

// MoveAway makes all masters far. For each new connection, trip() returns the delay: each byte that is
// written on the connection arrives that much later.
func (d *Deployment) MoveAway(trip func() time.Duration) {
	underWay := new(sync.WaitGroup)
	d.T.Cleanup(underWay.Wait) // also for bytes that were written before their connection was closed
	for i, m := range d.Masters {
		d.Masters[i] = farMaster{m, trip, underWay}
	}
}

// farMaster is a master with a different delay for each connection.
type farMaster struct {
	Master
	trip     func() time.Duration
	underWay *sync.WaitGroup
}

func (m farMaster) Options() *redis.Options {
	return Wrapped(m.Master, func(conn net.Conn) net.Conn { return newFarConn(conn, m.trip(), m.underWay) })
}

// farConn delivers written bytes after its trip time, and read bytes at once.
type farConn struct {
	net.Conn
	trip   time.Duration
	mu     sync.Mutex
	closed bool
	onWay  chan parcel
}

type parcel struct {
	arrives time.Time
	content []byte
}

func newFarConn(conn net.Conn, trip time.Duration, underWay *sync.WaitGroup) *farConn {
	c := &farConn{Conn: conn, trip: trip, onWay: make(chan parcel, 1024)}
	underWay.Go(func() {
		for p := range c.onWay {
			time.Sleep(time.Until(p.arrives))
			_, _ = conn.Write(p.content) // the reader notices a broken connection
		}
	})
	return c
}

func (c *farConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	c.onWay <- parcel{time.Now().Add(c.trip), append([]byte(nil), p...)}
	return len(p), nil
}

func (c *farConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.onWay)
	}
	return c.Conn.Close()
}
