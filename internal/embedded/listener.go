package embedded

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
)

// Listener accepts connections from inside this process. It is for what stands between clients and
// a Server. It works in a bubble.
type Listener struct {
	addr   address
	closed chan struct{}

	mu      sync.Mutex
	waiting []net.Conn    // nil once closed
	some    chan struct{} // holds a value when a connection may be waiting
}

// Listen returns a Listener that calls itself addr.
func Listen(addr string) *Listener {
	return &Listener{addr: address(addr), closed: make(chan struct{}), waiting: []net.Conn{}, some: make(chan struct{}, 1)}
}

// Dial connects to the Listener. It fails with ECONNREFUSED once that is closed.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, &net.OpError{Op: "dial", Net: l.addr.Network(), Addr: l.addr, Err: err}
	}
	client, server := newPipe(string(l.addr))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		return nil, &net.OpError{Op: "dial", Net: l.addr.Network(), Addr: l.addr, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	l.waiting = append(l.waiting, server)
	select {
	case l.some <- struct{}{}:
	default:
	}
	return client, nil
}

// Accept waits for a connection. Only one goroutine may call it.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		l.mu.Lock()
		closed := l.waiting == nil
		if len(l.waiting) > 0 {
			conn := l.waiting[0]
			l.waiting = l.waiting[1:]
			l.mu.Unlock()
			return conn, nil
		}
		l.mu.Unlock()
		if closed {
			return nil, &net.OpError{Op: "accept", Net: l.addr.Network(), Addr: l.addr, Err: net.ErrClosed}
		}
		select {
		case <-l.some:
		case <-l.closed:
		}
	}
}

// Close makes Dial and Accept fail, and resets the connections that wait. It can be called again.
func (l *Listener) Close() error {
	l.mu.Lock()
	waiting, closed := l.waiting, l.waiting == nil
	l.waiting = nil
	l.mu.Unlock()
	for _, conn := range waiting {
		_ = conn.(*end).SetLinger(0)
		_ = conn.Close()
	}
	if !closed {
		close(l.closed)
	}
	return nil
}

// Addr returns the name that was given to Listen.
func (l *Listener) Addr() net.Addr { return l.addr }
