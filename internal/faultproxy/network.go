package faultproxy

import (
	"context"
	"sync"
	"time"
)

// passage is what the network does to one direction.
type passage int

const (
	passes passage = iota
	stalls         // what comes waits until this changes
	loses          // what comes is lost
)

// network is the state of the wire, the same for all connections.
type network struct {
	mu      sync.Mutex
	now     *era
	latency time.Duration
	jitter  func() time.Duration // nil: none
	refuse  bool
}

// era is a time in which the passages do not change. Eras are chained, so that what waits in one
// gets to see all that follow: a Partition that is healed at once must still lose what was stalled
// before it.
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

// cross waits while the direction stalls. It returns false when what wants to cross is lost, or ctx
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

// due returns when something that comes now leaves the delay line.
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

// Partition loses all that comes from now on or is stalled now, in the directions given, until Heal
// or another call of Partition or Stall. A connection on which something was lost stays silent in
// that direction for good, also after Heal; one that nobody used meanwhile works again.
func (p *Proxy) Partition(toServer, toClient bool) {
	p.net.begin(choose(toServer, loses), choose(toClient, loses))
}

// Stall keeps all that comes from now on, in the directions given, and delivers it late: at Heal,
// or at another call of Partition or Stall that lets the direction pass.
func (p *Proxy) Stall(toServer, toClient bool) {
	p.net.begin(choose(toServer, stalls), choose(toClient, stalls))
}

// Heal ends a Partition or Stall.
func (p *Proxy) Heal() { p.net.begin(passes, passes) }

// Latency adds d one way to all that comes from now on, requests and replies alike. It is a delay
// line: any amount may be under way, and the order stays. 0, the default, turns it off.
func (p *Proxy) Latency(d time.Duration) {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	p.net.latency = d
}

// Jitter adds what the function returns to the Latency of each request and reply. Calls of it are
// made one at a time. nil, the default, turns it off.
func (p *Proxy) Jitter(more func() time.Duration) {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	p.net.jitter = more
}

// Divert leads new connections to the master of another proxy, as an address does that leads
// elsewhere for a while. A connection is new until its first request. Those that exist stay. With
// nil, which is the default, they lead to its own.
func (p *Proxy) Divert(to *Proxy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.astray = to
}

// Refuse makes the proxy reset each new connection as soon as it has accepted it, or stop doing so.
// Those that exist stay.
func (p *Proxy) Refuse(on bool) {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	p.net.refuse = on
}
