package faultproxy

import (
	"context"
	"sync"
	"time"
)

// passage is the state of one direction of the network.
type passage int

const (
	passes passage = iota
	stalls         // messages wait until this changes
	loses          // messages are lost
)

// network is the state of the network, the same for all connections.
type network struct {
	mu      sync.Mutex
	now     *era
	latency time.Duration
	jitter  func() time.Duration // nil: none
	refuse  bool
}

// era is a time in which neither passage changes. Eras are chained, so that a message that waits in one era passes
// through all later eras: even a Partition that is healed at once must lose the messages that were stalled before it.
type era struct {
	toServer passage
	toClient passage
	over     chan struct{}
	next     *era // may be read once over is closed
}

func newEra(toServer, toClient passage) *era {
	return &era{toServer: toServer, toClient: toClient, over: make(chan struct{})}
}

func (n *network) begin(toServer, toClient passage) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.now.next = newEra(toServer, toClient)
	close(n.now.over)
	n.now = n.now.next
}

func (n *network) current() *era {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.now
}

// cross waits while the direction stalls. It returns false if the message is lost, or ctx
// has ended.
func (n *network) cross(ctx context.Context, toServer bool) bool {
	for e := n.current(); ; e = e.next {
		now := e.toClient
		if toServer {
			now = e.toServer
		}
		switch now {
		case passes:
			return true
		case loses:
			return false
		}
		select {
		case <-e.over:
		case <-ctx.Done():
			return false
		}
	}
}

// due returns when a message that comes now leaves the delay line.
func (n *network) due() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := n.latency
	if n.jitter != nil {
		d += n.jitter()
	}
	return time.Now().Add(d)
}

func (n *network) refuses() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.refuse
}

func choose(on bool, p passage) passage {
	if on {
		return p
	}
	return passes
}

// Partition loses messages in the given directions: messages that are stalled now, and messages that come before Heal
// or another call of Partition or Stall. A connection that lost a message stays silent in that direction for good,
// even after Heal. A connection that lost nothing works again.
func (p *Proxy) Partition(toServer, toClient bool) {
	p.net.begin(choose(toServer, loses), choose(toClient, loses))
}

// Stall keeps all messages that come from now on in the given directions, and delivers them late: at Heal, or
// at another call of Partition or Stall that lets the direction pass.
func (p *Proxy) Stall(toServer, toClient bool) {
	p.net.begin(choose(toServer, stalls), choose(toClient, stalls))
}

// Heal ends a Partition or Stall.
func (p *Proxy) Heal() { p.net.begin(passes, passes) }

// Latency delays each request and each reply that comes from now on by d. It is a delay line: any number of messages
// may be under way, and their order stays. 0, the default, turns the delay off.
func (p *Proxy) Latency(d time.Duration) {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	p.net.latency = d
}

// Jitter adds the result of the function to the Latency of each request and reply. Calls of the function do
// not overlap. nil, the default, turns the jitter off.
func (p *Proxy) Jitter(more func() time.Duration) {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	p.net.jitter = more
}

// Divert leads new connections to the master of another proxy, as a wrong address would. A connection is new until its
// first request; other connections stay. With nil, the default, new connections lead to the proxy's own master.
func (p *Proxy) Divert(to *Proxy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.astray = to
}

// Refuse(true) makes the proxy reset each new connection at once, and Refuse(false) ends that. Existing connections
// stay.
func (p *Proxy) Refuse(on bool) {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	p.net.refuse = on
}
