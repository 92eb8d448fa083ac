package waitqueue

import (
	"math/bits"
	"sync"
)

// Queues are the callers of one client that wait, in a queue for each name. W is what a waiter
// wants, A an attempt: both are kept, and not looked at. The zero value is empty.
type Queues[W, A any] struct {
	mu     sync.Mutex // the order of locks is told in doc.go
	byName map[string]*queue[W, A]
}

// queue is that of one name.
type queue[W, A any] struct {
	blocked int // by so many holds of this client
	waiters []*Waiter[W, A]
	one     [1]*Waiter[W, A] // where the usual one is kept
}

// Waiter is one caller in a queue.
type Waiter[W, A any] struct {
	Want W

	// What follows is read and written only by the waiter whose turn it is.
	Progress
	Last *A // its last attempt, which may have to reach some masters' queues yet

	Listener Listener

	name  string
	reads bool

	// Guarded by Queues.mu.
	wake  chan struct{} // gets something whenever it may be its turn to ask; made when it first sleeps
	woken bool          // before that

	// The state: see doc.go. At most one is set, with along; a waiter that is waiting has none.
	asking   bool // it asks for itself
	along    bool // it may ask beside the first, with which it reads, without a place in the masters' queues
	promised bool // an attempt is being made for it
	handed   *A   // made for it by the holder before it

	// Only of the first waiter.
	called    uint64 // the masters, as bits, that keep the lock for it since it last asked
	inherited bool   // it has the place of one that left, and need not ask before AskAt
	failure   error  // of its last attempt that the masters decided; stays until the next
}

// of returns the queue of name. The caller holds mu.
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

// settle forgets a name that there is nothing to say of, and wakes the first of a queue that moved.
// The caller holds mu.
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

// Block notes that a hold of this client has the name.
func (q *Queues[W, A]) Block(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.of(name).blocked++
}

// Unblock is the end of Block.
func (q *Queues[W, A]) Unblock(name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of(name)
	l.blocked--
	q.settle(name, l)
}

// Next is Unblock, by who can hand an attempt over. It promises that to the waiter whose turn it is
// and returns it: Hand must follow. It returns nil when nobody waits, the name is blocked yet, or
// the waiter asks for itself.
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

// busy reports whether w has something to do already. The caller holds mu.
func (w *Waiter[W, A]) busy() bool { return w.asking || w.promised || w.handed != nil }

// Hand gives w the attempt that it was promised, and reports whether w is still there.
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

// Join puts a caller, that is to read or to write, at the end of the queue of name. ticket is its
// own, if it has one before it asks.
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

// Leave takes w out of its queue. Unless it was served, the next one has its place. When nobody is
// left there, nobodyLeft is called, before anybody else can come, with whether w has asked along and
// the attempt that w was handed and did not take, or nil. Leave returns that too.
func (q *Queues[W, A]) Leave(w *Waiter[W, A], served bool, nobodyLeft func(along bool, untaken *A)) (untaken *A) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of(w.name)
	first := l.waiters[0] == w
	l.remove(w)
	promised := w.promised
	w.promised = false
	if len(l.waiters) == 0 {
		nobodyLeft(w.along, w.handed)
	}
	opens := served && w.reads && !w.along // what a reader was granted, those behind it ask for, all at once
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

// Turn tells a waiter what to do.
type Turn[A any] struct {
	Ask       bool // the masters; else it has to wait
	Along     bool // without a place in their queues: it reads, and so do all before it
	Handed    *A   // instead of asking: the attempt that was handed to it
	Inherited bool // its place is another's, which was not called and has asked a moment ago
	Blocked   bool // a hold of this client has the name
}

// TurnOf tells w what to do. What it was called for is forgotten by that.
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
		w.wakeUp() // called since: for when the attempt proves to have been in vain
	}
	turn.Blocked = turn.Handed == nil && l.blocked > 0
	first := l.waiters[0] == w
	w.asking = !turn.Blocked && (first || w.along)
	w.along = w.asking && !first
	turn.Ask, turn.Along = w.asking, w.along
	return turn
}

// Notice notes that a master keeps name for this client; need is how many must before it is worth
// asking. When nobody here wants it, unwanted is called, before anybody else can come.
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

// first returns the first that waits for name, unless that is blocked. The caller holds mu.
func (q *Queues[W, A]) first(name string) *Waiter[W, A] {
	l := q.byName[name]
	if l == nil || l.blocked > 0 || len(l.waiters) == 0 {
		return nil
	}
	return l.waiters[0]
}

// Failed notes what the masters decided for w, who does not have the lock.
func (q *Queues[W, A]) Failed(w *Waiter[W, A], err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.failure, w.along = err, false
}

// FailureBefore reports whether w stands behind another, and what the masters decided for the first
// of all: nil if nothing yet.
func (q *Queues[W, A]) FailureBefore(w *Waiter[W, A]) (err error, behind bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.of(w.name).waiters[0]
	return first.failure, first != w
}

// Calls is how many masters keep the lock for w, unless an attempt was handed to it, which comes
// first.
func (q *Queues[W, A]) Calls(w *Waiter[W, A]) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.handed != nil {
		return 0
	}
	return bits.OnesCount64(w.called)
}

// Waiting is how many callers wait for name.
func (q *Queues[W, A]) Waiting(name string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.byName[name]; l != nil {
		return len(l.waiters)
	}
	return 0
}

// Woken returns what wakes w.
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
