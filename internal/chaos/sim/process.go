package sim

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/work"
)

// process is one life of a client process. It has effects only through its connections, its stores and its log. These
// wait while the process is stopped, and drop everything after the process was killed.
type process struct {
	log history.Log

	ctx    context.Context // of its workers
	cancel context.CancelFunc
	ended  chan struct{}

	mu      sync.Mutex
	stopped chan struct{} // not nil while the process is stopped; closed when it continues
	killed  bool
	conns   map[*conn]bool
}

func newProcess(log history.Log) *process {
	p := &process{log: log, ended: make(chan struct{}), conns: map[*conn]bool{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// runs waits while the process is stopped and the given channel is open. Then it reports whether the process is alive.
func (p *process) runs(until <-chan struct{}) bool {
	for {
		p.mu.Lock()
		stopped, killed := p.stopped, p.killed
		p.mu.Unlock()
		if killed || stopped == nil {
			return !killed
		}
		select {
		case <-stopped:
		case <-until:
			return true
		}
	}
}

func (p *process) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped == nil && !p.killed {
		p.stopped = make(chan struct{})
	}
}

func (p *process) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped == nil {
		return
	}
	for c := range p.conns {
		c.flush()
	}
	close(p.stopped)
	p.stopped = nil
}

// kill resets the connections, and ends the workers' context. Go code cannot be ended at once, so later effects of the
// process are dropped.
func (p *process) kill() {
	p.mu.Lock()
	p.killed = true
	conns := p.conns
	p.conns = nil
	if p.stopped != nil {
		close(p.stopped)
		p.stopped = nil
	}
	p.mu.Unlock()
	for c := range conns {
		c.reset()
	}
	p.cancel()
}

// Write writes the event to the log, unless the process was killed.
func (p *process) Write(e history.Event) {
	if p.runs(nil) {
		p.log.Write(e)
	}
}

// Now returns the time of the log.
func (p *process) Now() time.Duration { return p.log.Now() }

func (p *process) dialer(dial func(context.Context) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		if !p.runs(ctx.Done()) {
			return nil, fmt.Errorf("dial %s: %w", addr, os.NewSyscallError("connect", syscall.ENETUNREACH))
		}
		inner, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: inner, p: p, closed: make(chan struct{})}
		p.mu.Lock()
		if !p.killed {
			p.conns[c] = true
		}
		killed := p.killed
		p.mu.Unlock()
		if killed {
			c.reset()
		}
		return c, nil
	}
}

// reaches is a store that the process reaches only while it runs.
type reaches struct {
	work.Store
	p *process
}

var errDead = errors.New("sim: the process was killed")

func (s reaches) Write(ctx context.Context, resource string, token fence.Token, value int64) error {
	if !s.p.runs(nil) {
		return errDead
	}
	return s.Store.Write(ctx, resource, token, value)
}

func (s reaches) Read(ctx context.Context, resource string, token fence.Token) (int64, error) {
	if !s.p.runs(nil) {
		return 0, errDead
	}
	return s.Store.Read(ctx, resource, token)
}

// conn is a connection of a process.
type conn struct {
	net.Conn
	p       *process
	once    sync.Once
	closed  chan struct{}
	pending []byte // to be sent when the process continues; guarded by p.mu
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.p.runs(c.closed)
	return n, err
}

// Write does not wait while the process is stopped: if its caller holds a mutex, others may wait for the mutex, and
// meanwhile the clock of the synctest bubble stops.
func (c *conn) Write(b []byte) (int, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	if c.p.stopped != nil {
		c.pending = append(c.pending, b...)
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// flush sends the bytes that were written while the process was stopped. The caller must hold p.mu.
func (c *conn) flush() {
	_, _ = c.Conn.Write(c.pending) // fails if the connection is closed, which does not matter
	c.pending = nil
}

func (c *conn) Close() error {
	c.p.mu.Lock()
	delete(c.p.conns, c)
	c.p.mu.Unlock()
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

func (c *conn) reset() {
	if abrupt, ok := c.Conn.(interface{ SetLinger(int) error }); ok {
		_ = abrupt.SetLinger(0)
	}
	_ = c.Conn.Close()
}
