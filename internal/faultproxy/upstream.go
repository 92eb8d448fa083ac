package faultproxy

import (
	"bufio"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
)

// upstream is a connection to the master.
type upstream struct {
	p    *Proxy
	conn net.Conn

	mu       sync.Mutex
	gone     bool
	pending  []expectation // requests that were not answered yet, in their order
	numbered bool          // each request has one reply; false once the connection subscribes
}

// expectation is how to handle the reply to one request.
type expectation struct {
	faults  []*Fault
	swallow bool
}

// unnumbered are the commands after which replies come without a request.
var unnumbered = []string{"subscribe", "psubscribe", "ssubscribe", "monitor"}

// send writes the first bytes of a request. Only a whole request is answered. For a whole request, send records exp
// before the write, because the reply may come before the write returns.
func (u *upstream) send(req request, bytes int, exp expectation) error {
	if !u.expect(req, bytes == len(req.raw), exp) {
		return net.ErrClosed
	}
	_, err := u.conn.Write(req.raw[:bytes])
	return err
}

// expect records that a request is about to be sent. It returns false if the connection is gone.
func (u *upstream) expect(req request, whole bool, exp expectation) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.gone {
		return false
	}
	if !whole {
		return true
	}
	if slices.Contains(unnumbered, strings.ToLower(req.args[0])) {
		u.numbered = false
	}
	if u.numbered {
		u.pending = append(u.pending, exp)
	}
	return true
}

// readReplies reads until the connection ends. Unless the queue is nil, it queues the replies that are not swallowed,
// and then the end.
func (u *upstream) readReplies(to *queue[reply]) {
	r := bufio.NewReader(u.conn)
	for {
		raw, err := readReply(r)
		if err != nil {
			u.close()
			if to != nil {
				to.push(reply{end: true, failed: !errors.Is(err, io.EOF), due: u.p.net.due()})
			}
			return
		}
		exp := u.match(raw[0])
		for _, f := range exp.faults {
			f.answer()
		}
		if to != nil && !exp.swallow {
			to.push(reply{raw: raw, faults: exp.faults, due: u.p.net.due()})
		}
	}
}

// match returns the expectation for the next reply. Pushed data belongs to no request.
func (u *upstream) match(kind byte) expectation {
	u.mu.Lock()
	defer u.mu.Unlock()
	if kind == '>' || len(u.pending) == 0 {
		return expectation{}
	}
	exp := u.pending[0]
	u.pending = u.pending[1:]
	return exp
}

// closeWrite ends the stream of requests. Unlike after a reset, requests that were sent before are not lost: the master
// answers them before it closes.
func (u *upstream) closeWrite() {
	if tcp, ok := u.conn.(interface{ CloseWrite() error }); ok {
		_ = tcp.CloseWrite()
	}
}

func (u *upstream) close() {
	u.markGone()
	u.p.closeConn(u.conn)
}

func (u *upstream) markGone() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gone = true
}
