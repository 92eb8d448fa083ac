package embedded

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"
)

// Listener accepts connections from inside this process. It is for code between clients and a Server, such as
// a proxy. It works in a bubble.
type Listener struct {
	addr   address
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once
}

// Listen returns a Listener with the address addr.
func Listen(addr string) *Listener {
	return &Listener{addr: address(addr), conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Dial connects to the Listener, and waits until the Listener accepts. It fails with ECONNREFUSED once the Listener is
// closed.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	client, server := newPipe(string(l.addr))
	err := ctx.Err()
	if err == nil {
		select {
		case l.conns <- server:
			return client, nil
		case <-l.closed:
			err = os.NewSyscallError("connect", syscall.ECONNREFUSED)
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	return nil, &net.OpError{Op: "dial", Net: l.addr.Network(), Addr: l.addr, Err: err}
}

// Accept waits for a connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: l.addr.Network(), Addr: l.addr, Err: net.ErrClosed}
	}
}

// Close makes Dial and Accept fail. It can be called again.
func (l *Listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the name that was given to Listen.
func (l *Listener) Addr() net.Addr { return l.addr }
