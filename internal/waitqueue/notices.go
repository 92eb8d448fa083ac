package waitqueue

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

const (
	// SubscriptionsIdle is how long the subscriptions stay after the last waiter has left.
	SubscriptionsIdle = 5 * time.Second

	// MaxUnwanted is the largest number of answers in a second to one master's calls for names without a
	// waiter here. If a call is not answered, the master that sent it keeps the free lock for 200 ms in vain.
	MaxUnwanted = 50

	spreadEach = 200 * time.Microsecond // the time between two waiters in Spread
	maxSpread  = 5 * time.Second
)

// Notices keeps the client subscribed to the masters' notices while a caller waits, and records which
// masters can call the client.
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
	unwanted      []tally // by master: its calls for names without a waiter here
	closed        bool
	subscribers   sync.WaitGroup
}

// subscription is the state of one master's subscription.
type subscription struct {
	live  bool
	since clock.Instant
}

// tally counts events in one second.
type tally struct {
	since clock.Instant
	count int
}

// NewNotices returns the Notices of this number of masters; need is the size of a quorum. While a
// caller waits, subscribe runs in a goroutine for each master. subscribe must keep a subscription
// until its context ends, and call Set.
func NewNotices(masters, need int, now func() clock.Instant, subscribe func(ctx context.Context, master int)) *Notices {
	return &Notices{
		need:          need,
		silent:        make([]bool, masters),
		now:           now,
		subscribe:     subscribe,
		subscriptions: make([]subscription, masters),
		reach:         Reach{Calls: 1, changed: make(chan struct{})},
		unwanted:      make([]tally, masters),
	}
}

// Reach shows whether the masters can call the client. No notice is lost on a subscription without a
// break: notices come on one connection, and a master that cannot deliver a notice closes the connection.
type Reach struct {
	Quorum  bool          // a quorum of masters can call the client
	Calls   int           // when so many masters have called a waiter, it asks at once: a quorum, or all that can call if they are fewer
	since   clock.Instant // since when Quorum has been true without a break
	changed chan struct{} // closed when one of these changes
}

// covers reports whether a quorum of masters could call the client without a break since t.
func (r Reach) covers(t clock.Instant) bool { return r.Quorum && !r.since.After(t) }

// Listener is a waiter that needs the subscriptions from its first Listen to its Rest. It can be used once. The
// zero value does not listen.
type Listener struct{ counted bool } // written under Notices.mu

// Listen keeps the client subscribed until Rest is called with l, and returns the current Reach.
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

// Rest ends what the first Listen began. It does nothing for a Listener that never listened.
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

// retire ends the subscriptions if there is no listener.
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

// Set records whether a master's subscription is live. It does nothing if ctx, the subscription's
// context, has ended.
func (n *Notices) Set(ctx context.Context, master int, live bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ctx.Err() == nil {
		n.subscriptions[master] = subscription{live, n.now()}
		n.assess()
	}
}

// SetQuorum sets the size of a quorum, and the masters whose calls do not count.
func (n *Notices) SetQuorum(need int, silent []bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.need, n.silent = need, silent
	n.assess()
}

// counts reports whether a master's subscription is live, and its calls count. The caller holds mu.
func (n *Notices) counts(master int) bool { return n.subscriptions[master].live && !n.silent[master] }

// assess updates reach: whether, and since when, a quorum of subscriptions is live. The caller holds
// mu.
func (n *Notices) assess() {
	var since []clock.Instant
	for i, s := range n.subscriptions {
		if n.counts(i) {
			since = append(since, s.since)
		}
	}
	n.reach.Calls = max(1, min(n.need, len(since)))
	now := n.reach
	now.Quorum, now.since = false, 0
	if len(since) >= n.need {
		slices.Sort(since)
		now.Quorum, now.since = true, since[n.need-1]
	}
	if now != n.reach {
		close(n.reach.changed)
		now.changed = make(chan struct{})
		n.reach = now
	}
}

// Reach returns whether the masters can call the client now.
func (n *Notices) Reach() Reach {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.reach
}

// Spread returns the time over which the requests of all waiters of the client are spread, after
// subscriptions broke or came back.
func (n *Notices) Spread() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return min(time.Duration(n.listeners)*spreadEach, maxSpread)
}

// AnswerUnwanted counts a master's call for a name without a waiter here. It reports whether the
// client should answer the call.
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
