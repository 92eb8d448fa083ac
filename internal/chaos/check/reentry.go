package check

import (
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// reentries: a healthy hold (see record.healthy) can be entered again. A hold whose end was reported to its holder
// cannot be entered again. If a re-entry reports that the hold is over, the hold must be over soon after that.
func reentries(r *record, b Bounds, v *Verdict) {
	for _, a := range r.asks {
		h := a.under
		if a.held {
			h = a.hold
		}
		if a.depth == 1 || a.to == never || h == nil || a.upgrades() {
			continue
		}
		switch {
		case a.held && h.lost < a.from:
			v.violate(Reentry, a.to, "%s: %s got the answer at %s that its hold %s is over; it asked at %s to enter it again, and did",
				a.name, a.client, seconds(h.lost), h.with(), seconds(a.from))
		case a.held || a.err == history.ErrCanceled:
		case a.reportsEnd():
			if by := r.goesOnBy(a.client, a.to, b.Notice); by < r.horizon && !h.overBy(by) {
				v.violate(Reentry, a.to, "%s: %s asked at %s to enter its hold %s again, and got: %s; the hold went on",
					a.name, a.client, seconds(a.from), h.with(), a.err)
			}
		case !h.overBy(a.to) && r.healthy(h, a.from, a.to, b):
			v.violate(Reentry, a.to, "%s: %s asked at %s to enter its hold %s again, and got: %s; a quorum was there for it and unhurt since %s",
				a.name, a.client, seconds(a.from), h.with(), a.err, seconds(r.healthySince(h, a.from, b)))
		}
	}
}

// upgrades reports whether the ask is for writing, under a hold for reading.
func (a *ask) upgrades() bool {
	return a.under != nil && !a.reads && (a.under.reads || a.under.down <= a.from)
}

// reportsEnd reports whether the re-entry failed because its hold is over.
func (a *ask) reportsEnd() bool {
	return a.err == history.ErrLost || a.err == history.ErrExpired || a.err == history.ErrReleased
}

// overBy reports whether the hold was over at the given time: its lease had ended, its end was
// reported, its last unlock had begun, or its holder had died.
func (h *hold) overBy(at time.Duration) bool { return min(h.until, h.lost, h.left, h.died) <= at }
