package check

import "github.com/redlock-go/redlock/internal/chaos/history"

// unlocks: the first unlock of an entry never reports that the entry was released before. The first unlock of a healthy
// hold (see record.healthy) succeeds. If a last unlock finds that the hold was lost, the rule named lost judges this.
func unlocks(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			for _, e := range h.entries {
				last := e.after == 0 && (e.err == history.ErrLost || e.err == history.ErrExpired)
				switch {
				case e.freed == never || e.err == "" || last:
				case e.err == history.ErrReleased:
					v.violate(Unlock, e.freed, "%s: %s unlocked entry %d of its hold %s at %s, for the first time, and got: %s",
						name, h.client, e.depth, h.with(), seconds(e.left), e.err)
				case min(h.until, h.lost, h.died) > e.freed && r.healthy(h, e.left, e.freed, b):
					v.violate(Unlock, e.freed, "%s: %s unlocked entry %d of its hold %s at %s, and got: %s; a quorum was there for it and unhurt since %s",
						name, h.client, e.depth, h.with(), seconds(e.left), e.err, seconds(r.healthySince(h, e.left, b)))
				}
			}
		}
	}
}
