package check

import (
	"slices"
	"time"
)

// busy reports whether the machine let somebody wait for a store, or for the end of a try, a
// re-entry or an unlock: masters may have been as slow. Clients take masters that were too slow for
// down, and fail at once for a while. So what counts is the time since a quorum answered one of
// them. That a client was stopped meanwhile tells nothing of the machine. A fault that makes a try
// slow counts all the same: what masters do to take others back is as slow, and lasts for longer
// than the fault. A call that takes so long also excuses its own failure: with real masters, the
// rules that ask for calm judge quick failures only.
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
