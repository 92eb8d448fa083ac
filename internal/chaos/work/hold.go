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

// lease has the methods of *redlock.Lock and *redlock.Locks for the state of a hold.
type lease interface {
	Context() context.Context
	Until() time.Time
	Valid() bool
}

// entry is one handle on a hold.
type entry struct {
	call
	lock  *redlock.Lock // nil in a set of names
	lease lease
	of    int64       // the call that acquired the hold
	token fence.Token // identifies the hold for the Observer: 0 if it was acquired for reading
	reads bool        // acquired for reading
}

// holds are the holds of this process, for the client's Observer.
type holds struct {
	calls *recorder

	mu      sync.Mutex
	current map[int64]entry // by entry.of: for each hold, one entry that is not unlocked yet
	logs    sync.WaitGroup
}

// begin adds a fresh hold, or another entry of a hold.
func (h *holds) begin(e entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.current == nil {
		h.current = map[int64]entry{}
	}
	h.current[e.of] = e
}

// watch records the end of the entry's context, unless an unlock ended it. Each entry has a context of its own.
func (e entry) watch() {
	context.AfterFunc(e.lease.Context(), func() {
		if cause := context.Cause(e.lease.Context()); !errors.Is(cause, redlock.ErrReleased) {
			e.log(history.Event{Kind: history.ContextEnded, Err: LockClass(cause), Until: endOf(e.lease, e.r.out)})
		}
	})
}

// end forgets a hold whose last entry is unlocked.
func (h *holds) end(e entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.current, e.of)
}

// renewed records the new end of a renewed lease. The Observer calls it. It does not compute the end from ValidFor: the
// process may have been stopped since the renewal, and an end later than the true one would look like an overlap. An
// observer must not call the lock, so another goroutine reads the end. A renewal does not show which of several holds
// for reading was renewed, so renewed records the ends of all these holds. For a set, renewed records the end for all
// names: the set is valid until the first of its leases ends, so the renewal of any name may prolong it.
func (h *holds) renewed(r redlock.Renewal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.current { // without holds that are still being acquired: the ends of their leases are recorded later
		if e.known.Name != r.Name || e.token != r.Token {
			continue
		}
		for _, with := range h.current {
			if with.lease == e.lease {
				h.logs.Go(func() {
					with.log(history.Event{Kind: history.Renewed, Until: endOf(with.lease, h.calls.out)})
				})
			}
		}
	}
}

// wait returns when everything is recorded. No call of the client may be under way.
func (h *holds) wait() { h.logs.Wait() }

// endOf returns when the lease ends, on the clock of the run. It reads two clocks one after the other. If the
// process is stopped in between, the result is too early, never too late, and endOf tries again.
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
