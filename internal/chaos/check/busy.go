package check

import (
	"slices"
	"time"
)

// busy reports whether the machine let somebody wait for a store, or for the end of a
// try, a re-entry or an unlock: masters may have been as slow. Clients take masters that were too slow for down, and
// fail at once for a while. So what counts is the time since a quorum answered one of them. What a fault made slow tells
// nothing of the machine.
func (r *record) busy(from, to time.Duration, b Bounds) bool {
	if b.Busy == 0 {
		return false
	}
	from = r.answered(from)
	waited := func(client string, began, ended time.Duration) bool {
		ended = min(ended, r.horizon)
		return began <= to && ended >= from && ended-began > b.Busy && !r.stopped(client, began, ended)
	}
	asked := func(client string, began, ended time.Duration) bool {
		return waited(client, began, ended) && !r.hit(client, began, min(ended, r.horizon), b)
	}
	for _, at := range r.registers {
		if slices.ContainsFunc(r.accesses[at], func(a *access) bool { return waited(a.client, a.from, a.to) }) {
			return true
		}
	}
	unlocked := func(h *hold) bool {
		return slices.ContainsFunc(h.entries, func(e *entry) bool { return e.left != never && asked(h.client, e.left, min(e.freed, h.died)) })
	}
	for _, holds := range r.holds {
		if slices.ContainsFunc(holds, unlocked) {
			return true
		}
	}
	return slices.ContainsFunc(r.asks, func(a *ask) bool { return (!a.waits || a.depth > 1) && asked(a.client, a.from, a.to) })
}

// hit reports whether a fault was in the way of what the client asked masters between, or what it lost on connections may have been.
// Masters that forgot, or were restarted, answer at once. What the others do to take them back is no fault's doing.
func (r *record) hit(client string, from, to time.Duration, b Bounds) bool {
	return slices.ContainsFunc(r.faults, func(f trouble) bool {
		hurt, after := f.Hurts(client, b.Silent, b.Quarantine)
		if after != b.Silent {
			after = 0
		}
		return hurt != 0 && f.from <= to && (f.to == never || f.to+after >= from)
	})
}
