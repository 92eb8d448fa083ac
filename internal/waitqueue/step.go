package waitqueue

import (
	"math/bits"
	"math/rand/v2"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// Action is what a waiter does next.
type Action int

const (
	Sleep      Action = iota // until it is woken, the Reach changes, or Step.Until
	Ask                      // ask the masters
	AskAlong                 // ask without a place in the masters' queues: this waiter and all waiters before it read
	Conclude                 // conclude the attempt that was handed over
	FindHolder               // ask a master for the holder, for the error
)

func (a Action) String() string {
	return [...]string{"sleep", "ask", "ask along", "conclude", "find holder"}[a]
}

// Step is one step of a waiter.
type Step[A any] struct {
	Action
	Until  clock.Instant   // Sleep: step again then at the latest; 0: without a limit
	Reach  <-chan struct{} // Sleep: closed when the Reach changes; nil while that does not matter
	Calls  int             // Ask: how many masters have called since the last Ask
	Handed *A              // Conclude: the attempt
}

// Step returns what w does now. It decides from the state alone, so it may be called at any time,
// and a needless wake-up does no harm. If w asks or concludes, Step resets the part of the state
// that led to this action. If the action fails, the caller must call Failed.
func (q *Queues[W, A]) Step(w *Waiter[W, A], now clock.Instant, n *Notices) (s Step[A]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.of(w.name)
	p := position{first: l.waiters[0] == w, blocked: l.blocked > 0}
	if p.first && w.AskAt != 0 {
		p.reach = n.Listen(&w.Listener)
		p.spread = n.Spread()
		p.random = rand.Float64()
	}
	s.Action, s.Until = w.next(p, now)
	if w.promised {
		return s
	}
	w.asking = s.Action != Sleep || s.Until != 0
	w.along = s.Action == AskAlong
	switch s.Action {
	case Sleep:
		s.Reach = p.reach.changed
		if p.blocked {
			w.Failures = 0
		}
	case Ask:
		s.Calls = bits.OnesCount64(w.called)
		w.AskAt, w.findAt, w.called, w.freed = 0, 0, 0, false
	case Conclude:
		s.Handed = w.handed
		w.AskAt, w.findAt, w.handed = 0, 0, nil // the calls count for the next attempt
	case FindHolder:
		w.findAt = 0
	}
	return s
}

// position is the input of the method next, in addition to the waiter.
type position struct {
	first   bool
	blocked bool // a hold of this client has the name

	// Set only for a first waiter that has asked before.
	reach  Reach
	spread time.Duration
	random float64 // in [0,1)
}

// next decides what w does now. It moves AskAt to an earlier time if w may have missed a notice.
// testdata/step has the cases. The caller holds Queues.mu.
func (w *Waiter[W, A]) next(p position, now clock.Instant) (do Action, until clock.Instant) {
	switch {
	case w.promised:
		return Sleep, 0
	case w.handed != nil:
		return Conclude, 0
	case p.blocked:
		return Sleep, 0
	case !p.first && w.along:
		return AskAlong, 0
	case !p.first:
		return Sleep, 0
	case w.AskAt == 0, w.freed:
		return Ask, 0
	}
	if !w.Covered(p.reach) && now.Add(w.uncoveredPause(p.reach, p.spread)).Before(w.AskAt) {
		w.AskAt = now.Add(time.Duration(float64(p.spread) * p.random))
	}
	ask := w.AskAt
	if w.called != 0 {
		ask = min(ask, w.calledAt.Add(w.callPause(bits.OnesCount64(w.called), p.reach.Calls)))
	}
	switch {
	case !now.Before(ask):
		return Ask, 0
	case w.findAt == 0:
		return Sleep, ask
	case !now.Before(w.findAt):
		return FindHolder, 0
	}
	return Sleep, min(ask, w.findAt)
}

// Failure is a failed attempt of a waiter.
type Failure struct {
	Err    error
	Calls  int           // Step.Calls
	Need   int           // Reach.Calls
	AskAt  clock.Instant // when to ask again without a call
	FindAt clock.Instant // when to ask for the holder; 0: never
}

// Failed records a failed attempt of w.
func (q *Queues[W, A]) Failed(w *Waiter[W, A], f Failure) {
	q.mu.Lock()
	defer q.mu.Unlock()
	w.failure = f.Err
	if w.along { // it asked without a place
		w.along = false
		return
	}
	w.AskAt, w.findAt = f.AskAt, f.FindAt
	w.Failures++
	w.count(f.Calls, f.Need)
}
