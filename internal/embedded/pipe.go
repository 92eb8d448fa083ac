package embedded

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// newPipe returns the two ends of a connection on which writes never block: the buffers are like a kernel's, but have
// no limit. With net.Pipe, a write to a paused master would time out, and the request would never arrive.
func newPipe(addr string) (client, server net.Conn) {
	up, down := &stream{}, &stream{}
	return &end{in: down, out: up, peer: address(addr)}, &end{in: up, out: down, peer: address(addr)}
}

// address is the made-up address of a master.
type address string

func (a address) Network() string { return "embedded" }
func (a address) String() string  { return string(a) }

// stream carries bytes one way.
type stream struct {
	mu       sync.Mutex
	buf      bytes.Buffer
	eof      bool          // the writing end is closed: readers get the rest, then io.EOF
	gone     bool          // the reading end is closed: written bytes are dropped
	reset    bool          // the writing end has reset the connection: unread bytes are lost
	deadline time.Time     // of reads; zero for none
	changed  chan struct{} // nil, or closed when any of the above changes
}

// update changes the stream and wakes waiting goroutines.
func (s *stream) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// take reads without waiting. If there are neither bytes nor an error, it returns the deadline, and a channel that is
// closed at the next change.
func (s *stream) take(p []byte) (n int, changed <-chan struct{}, deadline time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.gone:
		err = net.ErrClosed
	case s.reset:
		err = os.NewSyscallError("read", syscall.ECONNRESET)
	case !s.deadline.IsZero() && !time.Now().Before(s.deadline):
		err = os.ErrDeadlineExceeded
	case s.buf.Len() > 0:
		n, _ = s.buf.Read(p)
	case s.eof:
		err = io.EOF
	case s.changed == nil:
		s.changed = make(chan struct{})
	}
	return n, s.changed, s.deadline, err
}

func (s *stream) read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		n, changed, deadline, err := s.take(p)
		if n > 0 || err != nil {
			return n, err
		}
		await(changed, deadline)
	}
}

// await waits until the channel is closed or the deadline has come. A zero deadline never comes.
func await(changed <-chan struct{}, deadline time.Time) {
	if deadline.IsZero() {
		<-changed
		return
	}
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	}
}

// write succeeds even if the reading end is closed. Over TCP, the first write to a peer that has closed succeeds too,
// and a client must not learn more here than over TCP.
func (s *stream) write(p []byte) (n int, err error) {
	s.update(func() {
		if s.eof {
			err = net.ErrClosed
			return
		}
		n = len(p)
		if !s.gone {
			s.buf.Write(p)
		}
	})
	return n, err
}

// end is one end of a connection.
type end struct {
	in, out *stream
	peer    address
	abrupt  atomic.Bool // Close resets the connection
}

func (e *end) Read(p []byte) (int, error) {
	n, err := e.in.read(p)
	if err != nil && err != io.EOF {
		err = e.opError("read", err)
	}
	return n, err
}

func (e *end) Write(p []byte) (int, error) {
	n, err := e.out.write(p)
	if err != nil {
		err = e.opError("write", err)
	}
	return n, err
}

// CloseWrite ends the stream to the other end, which still gets earlier bytes, and then io.EOF.
func (e *end) CloseWrite() error {
	e.out.update(func() { e.out.eof = true })
	return nil
}

// SetLinger makes Close reset the connection if sec is 0, like SetLinger of a net.TCPConn.
func (e *end) SetLinger(sec int) error {
	e.abrupt.Store(sec == 0)
	return nil
}

// Close calls CloseWrite, and drops all that the other end writes from now on. After SetLinger(0), it also drops bytes
// that the other end has not read, and the other end gets ECONNRESET.
func (e *end) Close() error {
	e.out.update(func() { e.out.eof, e.out.reset = true, e.abrupt.Load() })
	e.in.update(func() { e.in.gone, e.in.buf = true, bytes.Buffer{} })
	return nil
}

func (e *end) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: e.peer.Network(), Addr: e.peer, Err: err}
}

func (e *end) LocalAddr() net.Addr  { return e.peer }
func (e *end) RemoteAddr() net.Addr { return e.peer }

func (e *end) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

func (e *end) SetReadDeadline(t time.Time) error {
	e.in.update(func() { e.in.deadline = t })
	return nil
}

// SetWriteDeadline does nothing, because writes do not block.
func (e *end) SetWriteDeadline(time.Time) error { return nil }
