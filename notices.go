package redlock

import (
	"context"
	"errors"
	"math/bits"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// noticesIdle is how long the subscriptions stay when nobody waits any more.
const noticesIdle = 5 * time.Second

// notices hears when masters keep a lock for this client: one subscription a
// master, of one channel that is this client's own, made when somebody waits. A
// notice is only a hint: whoever waits asks by itself too, if seldom.
type notices struct {
	channel string
	need    int
	masters []*master
	called  func(master int, lockKey string)
	rouse   func() // a quorum of masters can call now

	mu          sync.Mutex
	users       int
	stop        context.CancelFunc // nil while there are no subscriptions
	idle        *time.Timer
	up          uint64 // the masters, as bits, whose subscription stands
	closed      bool
	vain        [maxMasters]tally // by master: its calls for names that nobody waits for
	subscribers sync.WaitGroup
}

// listen makes sure that w's client subscribes for as long as w waits, and reports
// whether a quorum of masters can call it.
func (n *notices) listen(w *waiter) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !w.listens && !n.closed {
		w.listens = true
		n.users++
		if n.stop == nil {
			ctx, cancel := context.WithCancel(context.Background())
			n.stop = cancel
			for _, m := range n.masters {
				n.subscribers.Go(func() { n.keepSubscribed(ctx, m) })
			}
		}
	}
	return n.quorate()
}

// rest is the end of listen.
func (n *notices) rest(w *waiter) {
	if !w.listens {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.users--; n.users > 0 || n.closed {
		return
	}
	if n.idle == nil {
		n.idle = time.AfterFunc(noticesIdle, n.retire)
	} else {
		n.idle.Reset(noticesIdle)
	}
}

// tally counts what happened in a second.
type tally struct {
	since clock.Instant
	count int
}

// unwanted reports whether to answer a master's call for a name that nobody here
// waits for.
func (n *notices) unwanted(master int, now clock.Instant) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := &n.vain[master]
	if t.count == 0 || !now.Before(t.since.Add(time.Second)) {
		*t = tally{since: now}
	}
	t.count++
	return t.count <= maxUnwanted
}

// retire ends the subscriptions if nobody waits.
func (n *notices) retire() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.users == 0 && n.stop != nil {
		n.stop()
		n.stop, n.up = nil, 0
	}
}

func (n *notices) close() {
	n.mu.Lock()
	n.closed, n.users = true, 0
	if n.idle != nil {
		n.idle.Stop()
	}
	n.mu.Unlock()
	n.retire()
	n.subscribers.Wait()
}

// listening reports whether a quorum of masters can call this client.
func (n *notices) listening() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.quorate()
}

func (n *notices) quorate() bool { return bits.OnesCount64(n.up) >= n.need }

// quorum is how many masters must call before it is worth asking: as many as
// decide, or all that can call if they are fewer.
func (n *notices) quorum() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return max(1, min(n.need, bits.OnesCount64(n.up)))
}

// set notes whether a master's subscription stands, unless it is one that was
// given up.
func (n *notices) set(ctx context.Context, master int, up bool) {
	n.mu.Lock()
	if ctx.Err() != nil {
		n.mu.Unlock()
		return
	}
	before := n.quorate()
	if up {
		n.up |= 1 << master
	} else {
		n.up &^= 1 << master
	}
	now := n.quorate()
	n.mu.Unlock()
	if now && !before {
		n.rouse()
	}
}

// hearAgain keeps one master's subscription until ctx ends.
func (n *notices) keepSubscribed(ctx context.Context, m *master) {
	for pause := minRetry; ctx.Err() == nil; pause = min(2*pause, maxRetry) {
		stood := false
		err := m.subscribe(ctx, n.channel, func() {
			stood = true
			n.set(ctx, m.Index, true)
		}, n.called)
		n.set(ctx, m.Index, false)
		if stood {
			pause = minRetry
		}
		rest := pause
		if _, giant := errors.AsType[*protocolError](err); giant || isReply(err) {
			rest = askInterval // it refuses, say for want of a permission, and will again; or somebody floods the channel
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
	}
}
