package lease

import (
	"context"

	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/unwind"
)

// Entry is one entry into a hold: its acquisition, or a re-entry.
type Entry struct {
	hold     *Hold
	ctx      context.Context
	cancel   context.CancelCauseFunc // of a re-entry
	renewal  *ctxRenewal
	unlocked bool // guarded by the hold's mu
	writes   bool // guarded by the hold's mu
}

// Hold returns the hold that it is an entry into.
func (e *Entry) Hold() *Hold { return e.hold }

// Context ends with the hold. That of a re-entry also ends with the entry.
func (e *Entry) Context() context.Context { return e.ctx }

// Unlocked reports whether Unlock was called.
func (e *Entry) Unlocked() bool {
	e.hold.mu.Lock()
	defer e.hold.mu.Unlock()
	return e.unlocked
}

// Unlock ends the entry here, before Exit tells the masters. It reports for the first call that it
// is that, and whether the entry wrote.
func (e *Entry) Unlock() (first, writes bool) {
	h := e.hold
	h.mu.Lock()
	again, writes := e.unlocked, e.writes
	e.unlocked = true
	delete(h.again, e)
	h.mu.Unlock()
	if again {
		return false, false
	}
	e.cancel(ErrReleased)
	return true, writes
}

// Exit takes the entry back, for writing or reading, and tells the masters. The last exit ends the
// hold. Exit returns a round with the masters' answers to come, and, if the hold was over before,
// why.
func (e *Entry) Exit(writes bool) (freed *quorum.Round, ended error) {
	return e.hold.exit(writes, e.renewal)
}

// Discard takes back an entry under which nothing was done. Nobody waits for that.
func (e *Entry) Discard() {
	h := e.hold
	if e == &h.first {
		h.mu.Lock()
		h.atLeast = 0
		h.mu.Unlock()
		h.exitAnyway(!h.Reads.Load(), e.renewal)
		return
	}
	h.mu.Lock()
	delete(h.again, e)
	h.mu.Unlock()
	e.cancel(ErrReleased)
	h.exitAnyway(e.writes, e.renewal)
}

// exitAnyway is exit, and frees the name also if the observer does not return.
func (h *Hold) exitAnyway(writes bool, r *ctxRenewal) (freed *quorum.Round, ended error) {
	unwind.OrElse(func() { freed, ended = h.exit(writes, r) }, h.ReleaseAnyway)
	return freed, ended
}

// exit takes back one entry, for writing or reading, with its renewal, and tells the masters.
func (h *Hold) exit(writes bool, r *ctxRenewal) (freed *quorum.Round, ended error) {
	r.stop()
	h.mu.Lock()
	h.depth--
	if writes {
		h.writers--
	}
	h.unlocked(r)
	left := h.depth
	ended = h.ended
	h.mu.Unlock()
	var next Next
	if left == 0 && ended == nil {
		if ended = h.End(ErrReleased); ended == ErrReleased {
			ended = nil
			if h.lingers() {
				defer h.forget() // waiters of this client ask only after the masters were told
			} else {
				next = h.handOver()
			}
		}
	}
	if ended != nil {
		return h.release(0, Next{}), ended // whatever the other handles think
	}
	return h.release(left, next), nil
}

// ReleaseAnyway is for a hold whose end was told to an observer that did not return, before the
// masters and the other callers of this client were told.
func (h *Hold) ReleaseAnyway() {
	h.forget()
	h.release(0, Next{})
}
