package waitqueue

import (
	"math/bits"
	"sync"

	"github.com/redlock-go/redlock/internal/clock"
)

// Queues has the waiting callers of one client, in a queue for each name. W is the type of a waiter's
// options, and A the type of an attempt. Values of these types are stored, and never read. The zero value is empty.
type Queues[W, A any] struct {
	mu     sync.Mutex // doc.go has the lock order
	byName map[string]*queue[W, A]
}

// queue is the queue of one name.
type queue[W, A any] struct {
	blocked int // the number of holds of this client that block the name
	waiters []*Waiter[W, A]
	one     [1]*Waiter[W, A] // room for the usual single waiter
}

// Waiter is one caller in a queue.
type Waiter[W, A any] struct {
	Want W

	// Only the first waiter of the queue reads and writes these. Queues.mu guards the second part
	// of Progress.
	Progress
	Last     *A  // its last attempt, which may not have reached all masters' queues yet
	Failures int // attempts in a row that failed

	Listener Listener

	name  string
	reads bool

	// Guarded by Queues.mu.
	wake  chan struct{} // receives a value when the waiter may have to act; made when the waiter first sleeps
	woken bool          // woken before wake was made

	// The state: see doc.go. At most one of asking, promised and handed is set, and none while the
	// waiter is waiting.
	asking   bool // it asks by itself
	along    bool // a reader that may ask beside the first, without a place in the masters' queues
	promised bool // an attempt is being made for it
	handed   *A   // the attempt that the previous holder made for it

	findAt clock.Instant // when to ask for the holder; 0: never
}

// of returns the queue of name, or creates it. The caller holds mu.
func (q *Queues[W, A]) of(name string) *queue[W, A] {
	l := q.byName[name]
	if l == nil {
		if q.byName == nil {
			q.byName = make(map[string]*queue[W, A])
		}
		l = new(queue[W, A])
		l.waiters = l.one[:0]
		q.byName[name] = l
	}
	return l
}

// freed records that a hold of this client has ended. The caller holds mu.
func (q *Queues[W, A]) freed(name string, l *queue[W, A]) {
	if l.blocked == 0 && len(l.waiters) > 0 {
		l.waiters[0].freed = true
	}
	q.settle(name, l)
}

// settle wakes the first waiter of a queue that is not blocked, or removes an empty queue. The caller
// holds mu.
func (q *Queues[W, A]) settle(name string, l *queue[W, A]) {
	switch {
	case l.blocked > 0:
	case len(l.waiters) > 0:
		l.waiters[0].wakeUp()
	default:
		delete(q.byName, name)
	}
}

// wakeUp wakes w. The caller holds mu.
func (w *Waiter[W, A]) wakeUp() {
	if w.wake == nil {
		w.woken = true
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Block keeps the waiters from asking for a name that this client holds.
func (q *Queues[W, A]) Block(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.of(name).blocked++
}

// Unblock undoes Block.
func (q *Queues[W, A]) Unblock(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of(name)
	l.blocked--
	q.freed(name, l)
}

// Next undoes Block, for a caller that can hand an attempt over. It promises an attempt to the
// first waiter, and returns the waiter with its ticket. Then the caller must call Hand. Next
// returns nil if there is no waiter, the name is still blocked, or the first waiter asks by itself.
func (q *Queues[W, A]) Next(name string) (w *Waiter[W, A], ticket Ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of(name)
	l.blocked--
	if l.blocked > 0 || len(l.waiters) == 0 || l.waiters[0].busy() {
		q.freed(name, l)
		return nil, Ticket{}
	}
	w = l.waiters[0]
	w.promised, w.called = true, 0
	return w, w.Ticket
}

// busy reports whether w asks, or has an attempt or the promise of one. The caller holds mu.
func (w *Waiter[W, A]) busy() bool { return w.asking || w.promised || w.handed != nil }

// Hand gives w the promised attempt, or withdraws the promise if a is nil. It reports false if w has
// left.
func (q *Queues[W, A]) Hand(w *Waiter[W, A], a *A) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !w.promised {
		return false
	}
	w.promised, w.handed = false, a
	w.wakeUp()
	return true
}

// Join adds a caller at the end of the queue of name. The zero ticket means that the caller gets
// its ticket later, from the masters.
func (q *Queues[W, A]) Join(name string, want W, reads bool, ticket Ticket) *Waiter[W, A] {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := &Waiter[W, A]{Want: want, Progress: Progress{Ticket: ticket}, name: name, reads: reads}
	l := q.of(name)
	if n := len(l.waiters); n > 0 {
		w.along = reads && l.waiters[n-1].along
	}
	l.waiters = append(l.waiters, w)
	return w
}

// Leave removes w from its queue. If w was first and was not served, the next waiter inherits its place. If the queue is
// empty now, Leave calls the function emptied, before another caller can join. The argument along of this function is
// true if w asked beside the first waiter. Leave returns the attempt that w was handed and did not take, or nil.
func (q *Queues[W, A]) Leave(w *Waiter[W, A], served bool, emptied func(along bool, untaken *A)) (untaken *A) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of(w.name)
	first := l.waiters[0] == w
	l.remove(w)
	promised := w.promised
	w.promised = false
	if len(l.waiters) == 0 {
		emptied(w.along, w.handed)
	}
	opens := served && w.reads && !w.along // all readers behind w ask at once
	for i := 0; opens && i < len(l.waiters) && l.waiters[i].reads; i++ {
		l.waiters[i].along = true
		l.waiters[i].wakeUp()
	}
	if !first {
		return w.handed
	}
	if len(l.waiters) > 0 && l.blocked == 0 && !served && w.EverAsked && w.handed == nil && !promised {
		next := l.waiters[0]
		next.Progress = w.Progress
		if next.Reads != next.reads {
			next.AskAt = 0
		}
		next.Last, w.Last = w.Last, nil
	}
	q.settle(w.name, l)
	return w.handed
}

func (l *queue[W, A]) remove(w *Waiter[W, A]) {
	for i := range l.waiters {
		if l.waiters[i] == w {
			l.waiters = append(l.waiters[:i], l.waiters[i+1:]...)
			return
		}
	}
}

// Notice records that a master keeps a name for this client, or granted this name. It wakes the first
// waiter at the first notice, and when enough masters (need) have sent one. If there is no waiter, or
// the name is blocked, it calls the function unwanted, before another caller can join.
func (q *Queues[W, A]) Notice(name string, master, need int, now clock.Instant, unwanted func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w := q.first(name)
	if w == nil {
		unwanted()
		return
	}
	if w.called&(1<<master) != 0 {
		return // nothing new
	}
	if w.called == 0 {
		w.calledAt = now
	}
	w.called |= 1 << master
	if calls := bits.OnesCount64(w.called); calls == 1 || calls == need {
		w.wakeUp()
	}
}

// first returns the first waiter for name, or nil if there is none or the name is blocked. The caller holds mu.
func (q *Queues[W, A]) first(name string) *Waiter[W, A] {
	l := q.byName[name]
	if l == nil || l.blocked > 0 || len(l.waiters) == 0 {
		return nil
	}
	return l.waiters[0]
}

// FailureBefore returns the error of the last attempt that the masters decided for the first waiter in w's queue, or nil.
func (q *Queues[W, A]) FailureBefore(w *Waiter[W, A]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.of(w.name).waiters[0].failure
}

// Waiting returns how many callers wait for name.
func (q *Queues[W, A]) Waiting(name string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.byName[name]; l != nil {
		return len(l.waiters)
	}
	return 0
}

// Woken returns a channel that receives a value when w is woken.
func (q *Queues[W, A]) Woken(w *Waiter[W, A]) <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.wake == nil {
		w.wake = make(chan struct{}, 1)
		if w.woken {
			w.wake <- struct{}{}
		}
	}
	return w.wake
}
