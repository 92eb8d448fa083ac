package waitqueue

import (
	"math/bits"
	"sync"
)

// Queues has the waiting callers of one client, in a queue for each name. W is the type of a waiter's
// options, A of an attempt: both are stored, and never read. The zero value is empty.
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

	// The next two are read and written only by the waiter whose turn it is.
	Progress
	Last *A // its last attempt, which may not have reached all masters' queues yet

	Listener Listener

	name  string
	reads bool

	// Guarded by Queues.mu.
	wake  chan struct{} // receives a value when it may be its turn to ask; made when it first sleeps
	woken bool          // woken before wake was made

	// The state: see doc.go. At most one is set, with along; a waiter that is waiting has none.
	asking   bool // it asks by itself
	along    bool // a reader that may ask beside the first, without a place in the masters' queues
	promised bool // an attempt is being made for it
	handed   *A   // the attempt that the holder before it made for it

	// Only of the first waiter.
	called    uint64 // the masters, as bits, that have called since it last asked
	inherited bool   // it has the place of a waiter that left, and need not ask before AskAt
	failure   error  // of the last attempt that the masters decided
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

// Block blocks a name that this client holds.
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
	q.settle(name, l)
}

// Next undoes Block, for a caller that can hand an attempt over. It promises an attempt to the first
// waiter and returns the waiter, with its ticket; then the caller must call Hand. It returns nil if
// there is no waiter, the name is still blocked, or the waiter asks by itself.
func (q *Queues[W, A]) Next(name string) (w *Waiter[W, A], ticket Ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of(name)
	l.blocked--
	if l.blocked > 0 || len(l.waiters) == 0 || l.waiters[0].busy() {
		q.settle(name, l)
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

// Join adds a caller at the end of the queue of name. ticket is the caller's ticket, if it has one
// before it asks.
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

// Leave removes w from its queue. If w was not served, the next waiter inherits its place. If the
// queue is empty, Leave calls emptied, before another caller can join; along is whether w asked
// beside the first. Leave returns the attempt that w was handed and did not take, or nil.
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
	opens := served && w.reads && !w.along // the readers behind it ask all at once
	for i := 0; opens && i < len(l.waiters) && l.waiters[i].reads; i++ {
		l.waiters[i].along = true
		l.waiters[i].wakeUp()
	}
	if !first {
		return w.handed
	}
	if len(l.waiters) > 0 && l.blocked == 0 && !served && w.EverAsked && w.handed == nil && !promised {
		next := l.waiters[0]
		next.Progress, next.called, next.inherited = w.Progress, w.called, true
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

// Turn is what a waiter has to do.
type Turn[A any] struct {
	Ask       bool // ask the masters; else wait
	Along     bool // ask without a place in their queues: w and all waiters before it read
	Handed    *A   // conclude this attempt instead of asking
	Inherited bool // the place is that of a waiter that left, and was not called since
	Blocked   bool // a hold of this client has the name
}

// TurnOf returns what w has to do, and clears its calls. If it returns a handed attempt, it wakes
// w again for its calls.
func (q *Queues[W, A]) TurnOf(w *Waiter[W, A]) Turn[A] {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.promised {
		return Turn[A]{}
	}
	l := q.of(w.name)
	turn := Turn[A]{Handed: w.handed, Inherited: w.inherited && w.called == 0}
	w.handed, w.inherited = nil, false
	switch {
	case turn.Handed == nil:
		w.called = 0
	case w.called != 0:
		w.wakeUp() // to follow the calls if the attempt fails
	}
	turn.Blocked = turn.Handed == nil && l.blocked > 0
	first := l.waiters[0] == w
	w.asking = !turn.Blocked && (first || w.along)
	w.along = w.asking && !first
	turn.Ask, turn.Along = w.asking, w.along
	return turn
}

// Notice records that a master keeps name for this client, and wakes the waiter at the first call and
// at the need-th. If there is no waiter, or the name is blocked, it calls unwanted, before another
// caller can join.
func (q *Queues[W, A]) Notice(name string, master, need int, unwanted func()) {
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
	w.called |= 1 << master
	if calls := bits.OnesCount64(w.called); calls == 1 || calls == need {
		w.wakeUp()
	}
}

// first returns the first waiter for name, or nil if the name is blocked. The caller holds mu.
func (q *Queues[W, A]) first(name string) *Waiter[W, A] {
	l := q.byName[name]
	if l == nil || l.blocked > 0 || len(l.waiters) == 0 {
		return nil
	}
	return l.waiters[0]
}

// Failed records the masters' decision for w, which does not have the lock.
func (q *Queues[W, A]) Failed(w *Waiter[W, A], err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.failure, w.along = err, false
}

// FailureBefore reports whether w is behind another waiter. It returns the masters' decision for the
// first waiter, or nil before that.
func (q *Queues[W, A]) FailureBefore(w *Waiter[W, A]) (err error, behind bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.of(w.name).waiters[0]
	return first.failure, first != w
}

// Calls returns how many masters have called w. It returns 0 if w was handed an attempt, because
// that comes first.
func (q *Queues[W, A]) Calls(w *Waiter[W, A]) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.handed != nil {
		return 0
	}
	return bits.OnesCount64(w.called)
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
