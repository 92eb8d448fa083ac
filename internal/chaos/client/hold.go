package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// entry is one handle on a hold, of the call that brought it.
type entry struct {
	call
	lock *redlock.Lock
}

// holds are those of this process, to be found by the client's Observer.
type holds struct {
	calls *recorder

	mu     sync.Mutex
	byName map[holdKey]entry // the first entry of each
	logs   sync.WaitGroup
}

type holdKey struct {
	name  string
	token fence.Token
}

// begin notes a fresh hold, and writes down when its context ends before its time.
func (h *holds) begin(e entry) {
	h.mu.Lock()
	if h.byName == nil {
		h.byName = map[holdKey]entry{}
	}
	h.byName[keyOf(e)] = e
	h.mu.Unlock()
	context.AfterFunc(e.lock.Context(), func() {
		switch cause := context.Cause(e.lock.Context()); {
		case errors.Is(cause, redlock.ErrLost), errors.Is(cause, redlock.ErrExpired):
			e.log(history.Event{Kind: history.Told, Err: lockClass(cause), Until: endOf(e.lock, h.calls.out.Clock())})
		}
	})
}

// end forgets a hold whose last entry is unlocked.
func (h *holds) end(e entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byName, keyOf(e))
}

// renewed is the Observer's. It does not take the end of the lease from validFor:
// this process may have been stopped since that was worked out, and an end that is
// told too late would look like an overlap. An observer must not ask the lock; so
// another goroutine does.
func (h *holds) renewed(name string, token fence.Token, _ time.Duration) {
	h.mu.Lock()
	e, ok := h.byName[holdKey{name, token}]
	h.mu.Unlock()
	if !ok {
		return // it is only beginning, and will read the end of its lease yet
	}
	h.logs.Go(func() {
		e.log(history.Event{Kind: history.Renewed, Until: endOf(e.lock, h.calls.out.Clock())})
	})
}

// wait returns when all is written. No call of the client may be under way.
func (h *holds) wait() { h.logs.Wait() }

func keyOf(e entry) holdKey { return holdKey{e.lock.Name(), e.lock.Token()} }

// endOf returns when the lease ends, on the clock of the run. The two clocks are
// read one after the other; a process that is stopped in between is too early by
// that, never too late, and tries again.
func endOf(lock *redlock.Lock, clock history.Clock) (until time.Duration) {
	for range 5 {
		now := clock.Now()
		until = now + time.Until(lock.Until())
		if clock.Now()-now < time.Millisecond {
			break
		}
	}
	return until
}
