package lease

import (
	"context"

	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/unwind"
)

// Entry is one entry into a hold: the acquisition, or a re-entry.
type Entry struct {
	hold     *Hold
	ctx      context.Context
	cancel   context.CancelCauseFunc // of a re-entry
	renewal  *ctxRenewal
	handle   Handle // guarded by the hold's mu; nil: Forgotten is not reported, Watch was called, or the entry is unlocked
	unlocked bool   // guarded by the hold's mu
	writes   bool   // the entry is for writing; guarded by the hold's mu
}

// entries are the entries of a hold that are not unlocked.
type entries struct {
	first     Entry               // the fresh acquisition; set by Begin, then constant
	again     map[*Entry]struct{} // the re-entries
	depth     int                 // the number of entries, with the re-entries under way
	writers   int                 // how many of the entries are for writing
	unrenewed int                 // how many of the entries do not ask for renewal, because their context has ended
}

// Handle is the caller's handle on an entry. After Watch, only the caller refers to it.
type Handle interface {
	// Watch calls the entry's Forgotten when nothing refers to the handle any more.
	Watch(*Entry)
}

// WatchHandle makes the hold's next renewal watch the handle of the entry. Most holds end before a
// renewal, so their handles cost nothing.
func (e *Entry) WatchHandle(handle Handle) {
	e.hold.mu.Lock()
	defer e.hold.mu.Unlock()
	e.handle = handle
}

// watchHandles watches the handles that are not watched yet.
func (h *Hold) watchHandles() {
	var entries []*Entry
	var handles []Handle
	take := func(e *Entry) {
		if e.handle != nil {
			entries, handles = append(entries, e), append(handles, e.handle)
		}
		e.handle = nil
	}
	h.mu.Lock()
	take(&h.entries.first)
	for e := range h.entries.again {
		take(e)
	}
	h.mu.Unlock()
	for i, handle := range handles {
		handle.Watch(entries[i])
	}
}

// Forgotten reports to the observer that nothing refers to the handle of the entry, unless the
// entry or the hold is over. The garbage collector calls Forgotten.
func (e *Entry) Forgotten() {
	if !e.Unlocked() && e.hold.Over() == nil {
		e.hold.observer.Forgotten(e.hold)
	}
}

// Hold returns the hold of the entry.
func (e *Entry) Hold() *Hold { return e.hold }

// Context returns the entry's context. It ends with the hold. The context of a re-entry also ends
// with the entry.
func (e *Entry) Context() context.Context { return e.ctx }

// Unlocked reports whether Unlock was called.
func (e *Entry) Unlocked() bool {
	e.hold.mu.Lock()
	defer e.hold.mu.Unlock()
	return e.unlocked
}

// Unlock ends the entry in this client. Call Exit afterwards: the last Exit frees the name. The first call of Unlock
// returns true, and whether the entry was for writing. Later calls return false, and do nothing.
func (e *Entry) Unlock() (first, writes bool) {
	h := e.hold
	h.mu.Lock()
	again, writes := e.unlocked, e.writes
	e.unlocked, e.handle = true, nil
	delete(h.entries.again, e)
	h.mu.Unlock()
	if again {
		return false, false
	}
	e.cancel(ErrReleased)
	return true, writes
}

// Discard removes an entry that was not used, and does not wait for the masters.
func (e *Entry) Discard() {
	if e == &e.hold.entries.first {
		e.hold.Unused()
	}
	e.exitAnyway()
}

// Unused makes the release free the name at once, because no work was done under the hold.
func (h *Hold) Unused() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = 0
}

// exitAnyway calls Unlock and Exit, and frees the name even if the observer does not return.
func (e *Entry) exitAnyway() (freed *quorum.Round, ended error) {
	_, writes := e.Unlock()
	unwind.OrElse(func() { freed, ended = e.Exit(writes) }, e.hold.ReleaseAnyway)
	return freed, ended
}

// Exit removes the entry. The argument is Unlock's second result: whether the entry was for writing.
// The last exit ends the hold, asks the masters to free the name, and returns the round of their
// answers. Earlier exits ask nothing, and return nil. If the hold was over before, each exit asks the
// masters, and also returns the reason.
func (e *Entry) Exit(writes bool) (freed *quorum.Round, ended error) {
	h := e.hold
	e.renewal.stop()
	h.mu.Lock()
	h.entries.depth--
	if writes {
		h.entries.writers--
	}
	h.unlocked(e.renewal)
	left, alive := h.entries.depth > 0, h.alive()
	ended = h.over.cause
	h.mu.Unlock()
	var next Next
	switch {
	case ended != nil:
	case left && alive:
		return nil, nil
	case left: // the timer is late, for example because the machine was suspended
		ended = h.End(ErrExpired)
	default:
		if ended = h.End(ErrReleased); ended == ErrReleased {
			ended = nil
			if h.lingers() {
				defer h.forget() // waiting callers of this client ask only after the release is submitted
			} else {
				next = h.handOver()
			}
		}
	}
	return h.release(next), ended // if the hold was over, each exit releases it
}

// ReleaseAnyway releases a hold whose observer did not return from Ended: the masters were not
// asked yet, and the other callers of this client are still blocked.
func (h *Hold) ReleaseAnyway() {
	h.forget()
	h.release(Next{})
}
