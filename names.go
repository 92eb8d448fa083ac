package redlock

import (
	"math/bits"
	"sync"

	"github.com/redlock-go/redlock/internal/clock"
)

// names is what a client has to do with names: the holds, and who waits.
type names struct {
	mu     sync.Mutex
	byName map[string]*line
}

// line is one name's holds in this client (two only when one has expired without
// being told yet) and those of its callers that wait, in order.
type line struct {
	holds   []*hold
	waiters []*waiter

	// The usual one of each has its place here.
	oneHold   [1]*hold
	oneWaiter [1]*waiter
}

// waiter is one call of Lock in line.
type waiter struct {
	cfg lockConfig

	// The client's place in the masters' lines is the head's, and goes to the next
	// one when it leaves. Only the head reads and writes it.
	ticket *string       // what the masters order it by
	queued bool          // it asked to stand in the lines
	began  clock.Instant // when its last attempt did
	placed bool          // that one asked for places in the lines
	asked  clock.Instant // when it last failed
	askAt  clock.Instant // when to ask next, unless called
	inVain int           // how often in a row it was called, but not by a quorum, and asked in vain
	misled int           // how often in a row it was called by a quorum, and asked in vain
	before *round        // its last attempt, which may have to reach some masters' lines yet

	listens bool // counted by notices; guarded by its mu

	// Guarded by names.mu.
	wake   chan struct{} // gets something whenever it may be its turn to ask; made when it first sleeps
	woken  bool          // before that
	asking bool          // it is the head, and asks for itself
	handed *attempt      // made for it by the holder before it
	second bool          // the one before it was called, and may not come
	called uint64        // the masters, as bits, that keep the lock for it since it last asked
	heir   bool          // it has the place of a head that left, and need not ask before askAt
}

func (n *names) of(name string) *line {
	l := n.byName[name]
	if l == nil {
		if n.byName == nil {
			n.byName = make(map[string]*line)
		}
		l = &line{}
		l.holds, l.waiters = l.oneHold[:0], l.oneWaiter[:0]
		n.byName[name] = l
	}
	return l
}

// tidy forgets a name that there is nothing to say of, and wakes the head of a
// line that moved. The caller holds mu.
func (n *names) tidy(name string, l *line) {
	switch {
	case len(l.holds) > 0:
	case len(l.waiters) > 0:
		l.waiters[0].rouse()
	default:
		delete(n.byName, name)
	}
}

// rouse wakes w. The caller holds mu.
func (w *waiter) rouse() {
	if w.wake == nil {
		w.woken = true
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

func (n *names) add(h *hold) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.of(h.name)
	l.holds = append(l.holds, h)
}

func (n *names) remove(h *hold) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.of(h.name)
	l.holds = without(l.holds, h)
	n.tidy(h.name, l)
}

// holds returns all that is held.
func (n *names) holds() []*hold {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []*hold
	for _, l := range n.byName {
		all = append(all, l.holds...)
	}
	return all
}

func (n *names) join(name string, cfg lockConfig) *waiter {
	n.mu.Lock()
	defer n.mu.Unlock()
	w := &waiter{cfg: cfg, asked: clock.Instant(-askInterval)}
	l := n.of(name)
	l.waiters = append(l.waiters, w)
	return w
}

// leave takes w out of the line. When nobody is left in it, that is told to
// nobodyLeft, before anybody else can come. leave returns the attempt that w was
// handed and did not take.
func (n *names) leave(name string, w *waiter, nobodyLeft func()) (untaken *attempt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.of(name)
	head := l.waiters[0] == w
	l.waiters = without(l.waiters, w)
	if len(l.waiters) == 0 {
		nobodyLeft()
	}
	if !head {
		return w.handed
	}
	if len(l.waiters) > 0 && len(l.holds) == 0 && w.queued && w.handed == nil {
		heir := l.waiters[0]
		heir.ticket, heir.queued, heir.asked, heir.askAt = w.ticket, true, w.asked, w.askAt
		heir.began, heir.placed = w.began, w.placed
		heir.inVain, heir.misled = w.inVain, w.misled
		heir.before, w.before = w.before, nil
		heir.called, heir.heir = w.called, true
	}
	n.tidy(name, l)
	return w.handed
}

// turn reports whether w may ask the masters: it is the head, and no hold of this
// client stands in the way. If one does, it is returned; if the holder before has
// asked for w, so is the attempt. early tells that w took the place of another,
// which was not called and has asked a moment ago.
func (n *names) turn(name string, w *waiter) (mine, early bool, handed *attempt, rival *hold) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.of(name)
	handed, w.handed = w.handed, nil
	early, w.heir = w.heir && w.called == 0, false
	w.second = false
	if handed == nil {
		w.called = 0
	} else if w.called != 0 {
		w.rouse() // called since: for when the attempt proves to have been in vain
	}
	if handed == nil && len(l.holds) > 0 {
		w.asking = false
		return false, false, nil, l.holds[len(l.holds)-1]
	}
	w.asking = l.waiters[0] == w
	return w.asking, early, handed, nil
}

// handOver takes a hold away that is released, and lets make the attempt of the
// caller whose turn it is then, unless there is none or it asks for itself. The
// caller sends the attempt.
func (n *names) handOver(h *hold, make func(*waiter) *attempt) *attempt {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.of(h.name)
	l.holds = without(l.holds, h)
	if len(l.holds) > 0 || len(l.waiters) == 0 || l.waiters[0].asking || l.waiters[0].handed != nil {
		n.tidy(h.name, l)
		return nil
	}
	w := l.waiters[0]
	w.handed, w.called = make(w), 0
	w.rouse()
	return w.handed
}

// called notes that a master keeps name for this client; need is how many must
// before it is worth asking. When nobody here wants it, that is told to
// unwanted, before anybody else can come.
func (n *names) called(name string, master, need int, unwanted func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.byName[name]
	if l == nil || len(l.holds) > 0 || len(l.waiters) == 0 {
		unwanted()
		return
	}
	w := l.waiters[0]
	if w.called&(1<<master) != 0 {
		return // nothing new
	}
	w.called |= 1 << master
	if heard := bits.OnesCount64(w.called); heard == 1 || heard == need {
		w.rouse()
	}
}

// standBy notes that the masters have called another who waits for name, and that
// the one of this client is next.
func (n *names) standBy(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.byName[name]
	if l == nil || len(l.holds) > 0 || len(l.waiters) == 0 || l.waiters[0].second {
		return
	}
	l.waiters[0].second = true
	l.waiters[0].rouse()
}

// standsBy reports that another was called before w, and w was not.
func (n *names) standsBy(w *waiter) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return w.second && w.called == 0 && w.handed == nil
}

// calls is how many masters keep the lock for w, unless an attempt was handed to
// it, which comes first.
func (n *names) calls(w *waiter) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w.handed != nil {
		return 0
	}
	return bits.OnesCount64(w.called)
}

// wanted reports whether any caller waits for name.
func (n *names) wanted(name string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.byName[name]
	return l != nil && len(l.waiters) > 0
}

// sleeper returns what wakes w.
func (n *names) sleeper(w *waiter) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if w.wake == nil {
		w.wake = make(chan struct{}, 1)
		if w.woken {
			w.wake <- struct{}{}
		}
	}
	return w.wake
}

func without[T comparable](all []T, one T) []T {
	for i := range all {
		if all[i] == one {
			return append(all[:i], all[i+1:]...)
		}
	}
	return all
}
