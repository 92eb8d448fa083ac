package redlock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
)

// noticesIdle is how long the subscriptions stay when nobody waits any more.
const noticesIdle = 5 * time.Second

// notices hears when masters keep a lock for this client: one subscription a
// master, of one channel that is this client's own, made when somebody waits. A
// notice is only a hint: whoever waits asks by itself too, if seldom.
type notices struct {
	channel string
	need    int
	masters []*master.Master
	called  func(master int, lockKey string)
	now     func() clock.Instant

	mu          sync.Mutex
	users       int
	stop        context.CancelFunc // nil while there are no subscriptions
	idle        *time.Timer
	up          [maxMasters]subscription // by master
	reach       reach
	closed      bool
	vain        [maxMasters]tally // by master: its calls for names that nobody waits for
	subscribers sync.WaitGroup
}

// subscription is one master's.
type subscription struct {
	stands bool
	since  clock.Instant
}

// reach tells whether masters can call this client. A notice does not get lost on a
// subscription that stands without a break: it comes on one connection, and a master
// that cannot deliver closes that.
type reach struct {
	quorum  bool          // a quorum of masters can
	since   clock.Instant // and without a break from then on
	changed chan struct{} // closed when one of these changes
}

// covers reports whether whoever stood in the lines at t has missed no call of a
// quorum of masters.
func (r reach) covers(t clock.Instant) bool { return r.quorum && !r.since.After(t) }

// listen makes sure that w's client subscribes for as long as w waits.
func (n *notices) listen(w *waiter) reach {
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
	return n.reach
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
		n.stop, n.up = nil, [maxMasters]subscription{}
		n.assess()
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

// reached tells how far the masters can call this client.
func (n *notices) reached() reach {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reach
}

// assess finds out whether and since when a quorum of subscriptions stands. The
// caller holds mu.
func (n *notices) assess() {
	var since []clock.Instant
	for _, s := range n.up {
		if s.stands {
			since = append(since, s.since)
		}
	}
	var now reach
	if len(since) >= n.need {
		slices.Sort(since)
		now.quorum, now.since = true, since[n.need-1]
	}
	if now.quorum != n.reach.quorum || now.since != n.reach.since {
		close(n.reach.changed)
		now.changed = make(chan struct{})
		n.reach = now
	}
}

// crowd is how many callers wait that masters are to call.
func (n *notices) crowd() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.users
}

// quorum is how many masters must call before it is worth asking: as many as
// decide, or all that can call if they are fewer.
func (n *notices) quorum() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	up := 0
	for _, s := range n.up {
		if s.stands {
			up++
		}
	}
	return max(1, min(n.need, up))
}

// set notes whether a master's subscription stands, unless it is one that was
// given up.
func (n *notices) set(ctx context.Context, master int, up bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() == nil {
		n.up[master] = subscription{stands: up, since: n.now()}
		n.assess()
	}
}

// keepSubscribed keeps one master's subscription until ctx ends.
func (n *notices) keepSubscribed(ctx context.Context, m *master.Master) {
	for pause := master.MinRetry; ctx.Err() == nil; pause = min(2*pause, master.MaxRetry) {
		stood := false
		err := m.Subscribe(ctx, n.channel, func() {
			stood = true
			n.set(ctx, m.Index, true)
		}, n.called)
		n.set(ctx, m.Index, false)
		if stood {
			pause = master.MinRetry
		}
		rest := pause
		if _, giant := errors.AsType[*master.ProtocolError](err); giant || master.IsReply(err) {
			rest = askInterval // it refuses, say for want of a permission, and will again; or somebody floods the channel
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
	}
}
