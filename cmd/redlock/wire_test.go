package main

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/harness"
)

// wire is a way to a master that can be cut: what is sent from then on vanishes.
type wire struct {
	addr  string
	whole atomic.Bool
	delay atomic.Int64 // of what is sent, each way
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	t.Cleanup(func() { l.Close() })
	w := &wire{addr: l.Addr().String()}
	w.whole.Store(true)
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil {
				near.Close()
				continue
			}
			go w.carry(near, far)
			go w.carry(far, near)
		}
	}()
	return w
}

func (w *wire) carry(from, to net.Conn) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		time.Sleep(time.Duration(w.delay.Load()))
		if w.whole.Load() {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
}

func (w *wire) cut() { w.whole.Store(false) }
