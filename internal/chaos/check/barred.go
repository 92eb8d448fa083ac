package check

import (
	"slices"
	"time"
)

// barred reports whether no quorum could grant anything to a, which is one of several names that
// somebody tries to get: another client had one of the others for all that time, on a quorum of
// masters, none of which grants any of them. A set that is waited for may have some of its names by
// itself.
func (r *record) barred(a *ask, b Bounds) bool {
	from, to := a.from-b.GiveBack, a.to
	if a.set == 0 || a.waits || a.held || to == never {
		return false
	}
	return slices.ContainsFunc(r.asks, func(o *ask) bool {
		return o.of == a.of && o.name != a.name && slices.ContainsFunc(r.holds[o.name], func(h *hold) bool {
			return h.client != a.client && !(h.reads && o.reads) && r.hasFor(h, from, to, b)
		})
	}) && !r.busy(from, to, b)
}

// hasFor reports whether the hold was on a quorum of masters for all that time, as it was had: no
// fault was under way since it was asked for, or for so long that it was renewed for a ttl.
func (r *record) hasFor(h *hold, from, to time.Duration, b Bounds) bool {
	since := r.healthySince(h, from, b)
	return h.held <= from && min(h.until, h.lost, h.left, h.died, h.down) > to && !r.forcedBefore(h, to, b) &&
		!r.faulty(since, to) && r.inModel(since, b.Recovery) && r.inModel(to, b.Recovery)
}
