package faultproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// Proxy is a proxy before one master. All methods may be called at any time and from several
// goroutines.
type Proxy struct {
	listener net.Listener
	dialer   func(context.Context) (net.Conn, error)
	net      network

	ctx    context.Context // ended by Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // all goroutines

	mu     sync.Mutex
	astray *Proxy // new connections lead to the master of astray; nil: to the proxy's own
	faults []*Fault
	conns  map[net.Conn]bool // the open connections; nil once the proxy is closed
}

// New starts a proxy for the master on the TCP address target. The proxy listens on a free port of the loopback
// interface. The master need not be up. New returns an error if it cannot listen. The caller must call Close.
func New(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("faultproxy: %w", err)
	}
	return NewOn(listener, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", target)
	}), nil
}

// NewOn starts a proxy for the clients that listener accepts, and for the master that dial connects to. Connections
// need not be TCP: if they have the methods CloseWrite and SetLinger of a net.TCPConn, the proxy uses these methods as
// with TCP.
func NewOn(listener net.Listener, dial func(context.Context) (net.Conn, error)) *Proxy {
	p := &Proxy{
		listener: listener,
		dialer:   dial,
		net:      network{now: newEra(passes, passes)},
		conns:    map[net.Conn]bool{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.wg.Go(p.accept)
	return p
}

// Addr returns "127.0.0.1:port".
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// URL returns "redis://127.0.0.1:port".
func (p *Proxy) URL() string { return "redis://" + p.Addr() }

// Close ends the proxy and all its connections, drops held messages, and returns once no goroutine is left. It can be
// called again. The first call returns the error, if any, of closing the listener.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}

	p.mu.Lock()
	open := p.conns
	p.conns = nil
	p.mu.Unlock()
	for conn := range open {
		_ = conn.Close()
	}
	p.wg.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		switch {
		case p.ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return
		case err != nil:
			p.sleep(time.Now().Add(acceptPause)) // maybe out of file descriptors: others may close some
		case p.net.refuses():
			reset(conn)
		case p.track(conn):
			p.wg.Go(newLink(p, conn).serve)
		}
	}
}

const acceptPause = 10 * time.Millisecond

// track records an open connection for Close. After Close it closes the connection and
// returns false.
func (p *Proxy) track(conn net.Conn) bool {
	p.mu.Lock()
	open := p.conns != nil
	if open {
		p.conns[conn] = true
	}
	p.mu.Unlock()
	if !open {
		_ = conn.Close()
	}
	return open
}

func (p *Proxy) closeConn(conn net.Conn) {
	p.mu.Lock()
	delete(p.conns, conn)
	p.mu.Unlock()
	_ = conn.Close()
}

// reset closes a connection so that its peer gets a reset at once, even if this end has read all bytes.
func reset(conn net.Conn) {
	if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// dial connects to the master.
func (p *Proxy) dial() (net.Conn, error) {
	p.mu.Lock()
	dialer := p.dialer
	if p.astray != nil {
		dialer = p.astray.dialer
	}
	p.mu.Unlock()
	conn, err := dialer(p.ctx)
	if err != nil {
		return nil, err
	}
	if !p.track(conn) {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// sleep waits until the given time. It returns false if the proxy was closed meanwhile.
func (p *Proxy) sleep(then time.Time) bool {
	wait := time.Until(then)
	if wait <= 0 {
		return p.ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ctx.Done():
		return false
	}
}

// Add starts a rule for requests that are not yet on their way to the master. Rules that pick
// the same request act one after the other in the order of Add.
func (p *Proxy) Add(r Rule) *Fault {
	f := newFault(p, r)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	return f
}

func (p *Proxy) remove(f *Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = slices.DeleteFunc(p.faults, func(other *Fault) bool { return other == f })
}

// pick counts the request for all rules that match it, and returns the rules that act on it.
func (p *Proxy) pick(args []string) []*Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	var due []*Fault
	for _, f := range p.faults {
		if !f.rule.On.matches(args) {
			continue
		}
		f.picked++
		if f.rule.Nth == 0 || f.rule.Nth == f.picked {
			due = append(due, f)
		}
	}
	return due
}
