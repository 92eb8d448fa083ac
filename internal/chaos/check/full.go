package check

import (
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
)

// full reports whether the hold, which was over at the end, had all it needs, but for memory of
// masters: to renew what they have takes none. Before the first of them was full, the hold was
// renewed for a ttl in calm, so that all had it.
func (r *record) full(h *hold, end time.Duration, b Bounds) bool {
	first := end - h.ttl - b.Calm
	for _, f := range r.faults {
		if f.Kind == fault.OOM && f.meets(first, end) {
			first = min(first, f.from)
		}
	}
	calm := first - h.ttl - b.Calm
	if !h.renewedFor(h.ttl, first) || r.forcedBefore(h, end, b) || r.stopped(h.client, calm, end) || r.busy(calm, end, b) ||
		!r.inModel(calm, b.Recovery) || !r.inModel(end, b.Recovery) {
		return false
	}
	for _, f := range r.faults {
		if f.Kind == fault.OOM && f.from >= first {
			continue
		}
		if _, after := f.Hurts(h.client, b.Silent, b.Quarantine); f.from <= end && (f.to == never || f.to+after >= calm) {
			return false
		}
	}
	return true
}
