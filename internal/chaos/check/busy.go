package check

import (
	"slices"
	"time"
)

// busy reports whether an access to a store, a try, a re-entry or an unlock was slow because of the machine:
// then masters may have been as slow. Clients take slow masters for down, and fail at once for a while, so
// the time since a quorum last answered a client is judged too. A call of a stopped client proves nothing
// about the machine. A fault that makes a try slow counts as a slow machine, because masters recover from it
// as slowly, and after its end. A slow call also excuses its own failure. So with real masters, the rules
// that require calm judge quick failures only.
func (r *record) busy(from, to time.Duration, b Bounds) bool {
	if b.Busy == 0 {
		return false
	}
	from = r.answered(from)
	waited := func(client string, began, ended time.Duration) bool {
		ended = min(ended, r.horizon)
		return began <= to && ended >= from && ended-began > b.Busy && !r.stopped(client, began, ended)
	}
	for _, at := range r.registers {
		if slices.ContainsFunc(r.accesses[at], func(a *access) bool { return waited(a.client, a.from, a.to) }) {
			return true
		}
	}
	unlocked := func(h *hold) bool {
		return slices.ContainsFunc(h.entries, func(e *entry) bool { return e.left != never && waited(h.client, e.left, min(e.freed, h.died)) })
	}
	for _, holds := range r.holds {
		if slices.ContainsFunc(holds, unlocked) {
			return true
		}
	}
	return slices.ContainsFunc(r.asks, func(a *ask) bool { return (!a.waits || a.depth > 1) && waited(a.client, a.from, a.to) })
}
