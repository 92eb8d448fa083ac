package check

import (
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// exclusion: in the fault model, two claims on a name never overlap, unless both are readers' claims. A claim lasts
// until all work under the hold has ended (see record.claim). A writer's claim becomes a reader's claim at the
// downgrade. When an operator takes a lock, the holder's claim ends when the operator's call begins. But if a quorum
// renewed the hold long after that call, the call did not take the lock, and the claim goes on. Nobody releases the
// lock of a holder that died, so the dead holder's lease excludes others until the lease ends.
//
// Out of the fault model, claims may overlap, and the overlaps are counted. There, no claim outlasts the lease that its
// holder computed.
func exclusion(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		var claims, leases, estates occupied
		for _, h := range r.holds[name] {
			if r.meets(history.InModel, h.held, h.held) || len(r.phases) == 0 {
				v.HeldInModel++
			}
			claim := r.claim(h, b)
			rival, lessee, dead := claims.rivalOf(h), leases.rivalOf(h), estates.rivalOf(h)
			switch inModel := r.inModel(h.held, b.Recovery); {
			case inModel && claim > h.held && rival != nil && rival.held < h.forcedFrom(b):
				v.violate(Exclusion, h.held, "%s: %s held it %s until %s, and did not notice its end before; %s held it %s from %s",
					name, rival.client, rival.with(), seconds(min(rival.workEnd(), r.horizon)), h.client, h.with(), seconds(h.held))
			case inModel && claim > h.held && dead != nil && dead.held < h.forcedFrom(b):
				v.violate(Exclusion, h.held, "%s: %s died at %s and its lease %s ends at %s; %s held it %s from %s",
					name, dead.client, seconds(dead.died), dead.with(), seconds(dead.until), h.client, h.with(), seconds(h.held))
			case !inModel && h.valid() > h.held && lessee != nil && lessee.held < h.forcedFrom(b):
				v.Overlaps++
			}
			if h.reads && rival == nil && claims.to > h.held {
				v.Shared++
			}
			claims.add(h, min(claim, h.forcedFrom(b)))
			leases.add(h, min(h.valid(), h.forcedFrom(b)))
			estates.add(h, r.estate(h, b))
		}
	}
}

// estate returns the time until which the lease of a dead holder certainly excludes others. It returns 0 for a holder
// that did not die, had noticed the end of the hold, or had begun to unlock a name of the set.
func (r *record) estate(h *hold, b Bounds) time.Duration {
	end := never
	for _, o := range r.with(h) {
		if o.died == never || o.left != never || o.lost != never {
			return 0
		}
		end = min(end, o.until-reading, o.forcedFrom(b))
	}
	return end
}

// occupied describes until when earlier holds take a name. The field last has the hold with the latest time, to.
// The field writer has the hold for writing with the latest time, written.
type occupied struct {
	last, writer *hold
	to, written  time.Duration
}

// add adds a hold, with the time until which the hold takes the name.
func (o *occupied) add(h *hold, to time.Duration) {
	if to > h.held && to > o.to {
		o.last, o.to = h, to
	}
	if to = min(to, h.down); !h.reads && to > h.held && to > o.written {
		o.writer, o.written = h, to
	}
}

// rivalOf returns an earlier hold that excludes h, or nil.
func (o *occupied) rivalOf(h *hold) *hold {
	switch {
	case h.reads && o.written > h.held:
		return o.writer
	case !h.reads && o.to > h.held:
		return o.last
	}
	return nil
}
