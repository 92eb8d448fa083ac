package waitqueue

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

const (
	// SubscriptionsIdle is how long the subscriptions stay when nobody waits any more.
	SubscriptionsIdle = 5 * time.Second

	// MaxUnwanted bounds how many calls of one master for names that nobody here waits for are
	// answered in a second. Who comes after the others waits 200 ms longer for those that are not.
	MaxUnwanted = 50
)

// Notices has the client subscribe to the masters' notices while somebody waits, and knows which
// masters can call it.
type Notices struct {
	now       func() clock.Instant
	subscribe func(ctx context.Context, master int)

	mu            sync.Mutex
	need          int
	silent        []bool // by master: its calls do not count
	listeners     int
	stop          context.CancelFunc // nil while there are no subscriptions
	idle          *time.Timer
	subscriptions []subscription // by master
	reach         Reach
	unwanted      []tally // by master: its calls for names that nobody waits for
	closed        bool
	subscribers   sync.WaitGroup
}

// subscription is one master's.
type subscription struct {
	stands bool
	since  clock.Instant
}

// tally counts what happened in a second.
type tally struct {
	since clock.Instant
	count int
}

// NewNotices returns those of so many masters, of which need are a quorum. It calls subscribe, in a
// goroutine for each master, while somebody waits: that keeps a subscription until its context
// ends, and calls Set.
func NewNotices(masters, need int, now func() clock.Instant, subscribe func(ctx context.Context, master int)) *Notices {
	return &Notices{
		need:          need,
		silent:        make([]bool, masters),
		now:           now,
		subscribe:     subscribe,
		subscriptions: make([]subscription, masters),
		reach:         Reach{changed: make(chan struct{})},
		unwanted:      make([]tally, masters),
	}
}

// Reach tells whether masters can call the client. A notice does not get lost on a subscription
// that stands without a break: it comes on one connection, and a master that cannot deliver closes
// that.
type Reach struct {
	Quorum  bool          // a quorum of masters can
	since   clock.Instant // and without a break from then on
	changed chan struct{} // closed when one of these changes
}

// covers reports whether who stood in the masters' queues at t has missed no notice of a quorum of
// masters.
func (r Reach) covers(t clock.Instant) bool { return r.Quorum && !r.since.After(t) }

// Changed is closed when it changes whether masters can call the client.
func (r Reach) Changed() <-chan struct{} { return r.changed }

// Listener is one that needs the subscriptions. The zero value does not listen.
type Listener struct{ counted bool } // guarded by Notices.mu

// Listen makes sure that the client subscribes until l rests.
func (n *Notices) Listen(l *Listener) Reach {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !l.counted && !n.closed {
		l.counted = true
		n.listeners++
		if n.stop == nil {
			ctx, cancel := context.WithCancel(context.Background())
			n.stop = cancel
			for i := range n.subscriptions {
				n.subscribers.Go(func() { n.subscribe(ctx, i) })
			}
		}
	}
	return n.reach
}

// Rest is the end of Listen.
func (n *Notices) Rest(l *Listener) {
	if !l.counted {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners--; n.listeners > 0 || n.closed {
		return
	}
	if n.idle == nil {
		n.idle = time.AfterFunc(SubscriptionsIdle, n.retire)
	} else {
		n.idle.Reset(SubscriptionsIdle)
	}
}

// retire ends the subscriptions if nobody waits.
func (n *Notices) retire() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.listeners == 0 && n.stop != nil {
		n.stop()
		n.stop = nil
		clear(n.subscriptions)
		n.assess()
	}
}

// Close ends the subscriptions, and waits until they have ended.
func (n *Notices) Close() {
	n.mu.Lock()
	n.closed, n.listeners = true, 0
	if n.idle != nil {
		n.idle.Stop()
	}
	n.mu.Unlock()
	n.retire()
	n.subscribers.Wait()
}

// Set notes whether a master's subscription stands, unless it is one that was given up, with its
// context.
func (n *Notices) Set(ctx context.Context, master int, stands bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() == nil {
		n.subscriptions[master] = subscription{stands, n.now()}
		n.assess()
	}
}

// SetQuorum tells that need masters are a quorum, of those that are not silent.
func (n *Notices) SetQuorum(need int, silent []bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.need, n.silent = need, silent
	n.assess()
}

// counts reports whether a master's subscription stands, and its calls count. The caller holds mu.
func (n *Notices) counts(master int) bool { return n.subscriptions[master].stands && !n.silent[master] }

// assess finds out whether and since when a quorum of subscriptions stands. The caller holds mu.
func (n *Notices) assess() {
	var since []clock.Instant
	for i, s := range n.subscriptions {
		if n.counts(i) {
			since = append(since, s.since)
		}
	}
	var now Reach
	if len(since) >= n.need {
		slices.Sort(since)
		now.Quorum, now.since = true, since[n.need-1]
	}
	if now.Quorum != n.reach.Quorum || now.since != n.reach.since {
		close(n.reach.changed)
		now.changed = make(chan struct{})
		n.reach = now
	}
}

// Reach tells how far the masters can call the client.
func (n *Notices) Reach() Reach {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reach
}

// Listeners is how many waiters the masters are to call.
func (n *Notices) Listeners() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.listeners
}

// Quorum is how many masters must call before it is worth asking: as many as decide, or all that
// can call if they are fewer.
func (n *Notices) Quorum() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	standing := 0
	for i := range n.subscriptions {
		if n.counts(i) {
			standing++
		}
	}
	return max(1, min(n.need, standing))
}

// AnswerUnwanted reports whether to answer a master's call for a name that nobody here waits for.
func (n *Notices) AnswerUnwanted(master int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	t, now := &n.unwanted[master], n.now()
	if t.count == 0 || !now.Before(t.since.Add(time.Second)) {
		*t = tally{since: now}
	}
	t.count++
	return t.count <= MaxUnwanted
}
