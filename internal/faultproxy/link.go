package faultproxy

import (
	"bufio"
	"errors"
	"net"
	"sync"
	"time"
)

// link is the connection of one client with its state.
type link struct {
	p        *Proxy
	client   net.Conn
	requests *queue[request]
	replies  *queue[reply]

	mu  sync.Mutex
	cut bool      // the client was reset: queued requests are lost
	up  *upstream // nil before the first request; only sendRequests changes it
}

// request is one request, or the end of the requests.
type request struct {
	raw  []byte
	args []string
	due  time.Time // when it leaves the delay line
	end  bool
}

// reply is one reply, or the end of the replies.
type reply struct {
	raw    []byte
	faults []*Fault
	due    time.Time
	end    bool
	failed bool // the end was not a regular one
}

func newLink(p *Proxy, client net.Conn) *link {
	return &link{p: p, client: client, requests: newQueue[request](), replies: newQueue[reply]()}
}

// serve passes messages. It returns when the client is gone and all its requests are sent on or lost.
func (l *link) serve() {
	var wg sync.WaitGroup
	wg.Go(l.readRequests)
	wg.Go(l.sendRequests)
	wg.Go(l.deliverReplies)
	wg.Wait()

	l.p.closeConn(l.client)
}

func (l *link) readRequests() {
	r := bufio.NewReader(l.client)
	for {
		raw, args, err := readRequest(r)
		if err != nil {
			if errors.Is(err, errProtocol) {
				l.cutClient()
			}
			l.requests.push(request{end: true, due: l.p.net.due()})
			return
		}
		if len(args) > 0 { // Redis ignores an empty request
			l.requests.push(request{raw: raw, args: args, due: l.p.net.due()})
		}
	}
}

// cutClient resets the connection to the client. Requests that are still queued
// are lost.
func (l *link) cutClient() {
	l.mu.Lock()
	l.cut = true
	l.mu.Unlock()
	reset(l.client)
}

func (l *link) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

func (l *link) upstream() *upstream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up
}

// connect makes a new connection to the master for this link. If the link had a connection before, replies on the new
// connection are discarded, because the client is gone.
func (l *link) connect() (*upstream, error) {
	conn, err := l.p.dial()
	if err != nil {
		return nil, err
	}
	up := &upstream{p: l.p, conn: conn, numbered: true}
	l.mu.Lock()
	first := l.up == nil
	l.up = up
	l.mu.Unlock()
	if first {
		l.p.wg.Go(func() { up.readReplies(l.replies) })
	} else {
		l.p.wg.Go(func() { up.readReplies(nil) })
	}
	return up, nil
}
