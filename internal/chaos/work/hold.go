package work

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// lease is what a *redlock.Lock and a *redlock.Locks tell of what is held.
type lease interface {
	Context() context.Context
	Until() time.Time
	Valid() bool
}

// entry is one handle on a hold, of the call that brought it.
type entry struct {
	call
	lock  *redlock.Lock // nil of one of several names
	lease lease
	of    int64       // the call that brought the hold
	token fence.Token // by which the Observer knows the hold: 0 if that was had for reading
	reads bool        // it was had for reading
}

// holds are those of this process, to be found by the client's Observer.
type holds struct {
	calls *recorder

	mu   sync.Mutex
	had  map[int64]entry // by entry.of: one entry of each that is not left
	logs sync.WaitGroup
}

// begin notes a fresh hold, or another entry of one.
func (h *holds) begin(e entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.had == nil {
		h.had = map[int64]entry{}
	}
	h.had[e.of] = e
}

// watch writes down when the context of an entry ends before it is left: each has one of its own.
func (e entry) watch() {
	context.AfterFunc(e.lease.Context(), func() {
		if cause := context.Cause(e.lease.Context()); !errors.Is(cause, redlock.ErrReleased) {
			e.log(history.Event{Kind: history.Told, Err: LockClass(cause), Until: endOf(e.lease, e.r.out)})
		}
	})
}

// end forgets a hold whose last entry is unlocked.
func (h *holds) end(e entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.had, e.of)
}

// renewed is the Observer's. It does not take the end of the lease from ValidFor: this process may
// have been stopped since that was worked out, and an end that is told too late would look like an
// overlap. An observer must not ask the lock; so another goroutine does. Which of several holds for
// reading was renewed is not told: all of them are asked. So are all names of a set: its lease is
// that of the name whose lease ends first, and may be longer by the renewal of another.
func (h *holds) renewed(r redlock.Renewal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.had { // one that is only beginning is not there, and will read the end of its lease yet
		if e.known.Name != r.Name || e.token != r.Token {
			continue
		}
		for _, with := range h.had {
			if with.lease == e.lease {
				h.logs.Go(func() {
					with.log(history.Event{Kind: history.Renewed, Until: endOf(with.lease, h.calls.out)})
				})
			}
		}
	}
}

// wait returns when all is written. No call of the client may be under way.
func (h *holds) wait() { h.logs.Wait() }

// endOf returns when the lease ends, on the clock of the run. The two clocks are read one after the
// other; a process that is stopped in between is too early by that, never too late, and tries
// again.
func endOf(of lease, clock history.Log) (until time.Duration) {
	for range 5 {
		now := clock.Now()
		until = now + time.Until(of.Until())
		if clock.Now()-now < time.Millisecond {
			break
		}
	}
	return until
}
