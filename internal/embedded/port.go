package embedded

import (
	"io"
	"net"
)

// listen serves the run on a TCP address as well. A connection there leads to a pipe, so that the
// master never waits for the network.
func (r *run) listen(addr string) (net.Addr, error) {
	port, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begin(port, func() {
		for {
			outside, err := port.Accept()
			if err != nil {
				return
			}
			r.join(outside)
		}
	})
	return port.Addr(), nil
}

// join serves a connection from outside.
func (r *run) join(outside net.Conn) {
	inside := r.connect(outside.RemoteAddr().String())
	if inside == nil {
		_ = outside.Close()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		_ = outside.Close()
		return
	}
	r.begin(outside, func() {
		_, _ = io.Copy(inside, outside) // until one of them is closed
		_ = inside.Close()
	})
	r.serving.Go(func() {
		_, _ = io.Copy(outside, inside)
		_ = outside.Close()
	})
}
