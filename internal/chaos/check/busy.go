package check

import (
	"slices"
	"time"
)

// busy reports whether the machine was overloaded between from and to: an access to a store, a try, a re-entry or an
// unlock took longer than b.Busy. Then the masters may have been slow, too. Clients treat slow masters as down, and
// calls fail at once for a while. So busy does not begin at from, but at the previous answer of a quorum to any client.
// A slow call of a stopped client does not count. A try that a fault made slow counts, because masters recover slowly
// after a fault. A slow call also excuses its own failure. So with real masters, the rules that require calm judge only
// quick failures.
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
