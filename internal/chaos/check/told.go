package check

import "time"

// told: everybody who works under a hold hears soon that its lease ran out, unless they had left by
// themselves. A process that is stopped then hears it soon after it goes on. Each entry has a
// context of its own. (That they hear of it before anybody else can hold the lock is what exclusion
// demands.) If a holder died within a ttl after the recorded end of its lease, nobody knows whether
// that was the end: late votes may have moved the end by a ttl at most, and the holder records that
// only when it is told or leaves.
func told(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			by := r.goesOnBy(h.client, h.until, b.Told)
			if by >= r.horizon || h.died <= by+h.ttl {
				continue
			}
			for _, e := range h.entries {
				if heard := min(e.told, e.freed); heard > by && e.left > h.until {
					v.violate(Told, by, "%s: the lease of %s %s ended at %s, and its entry %d was not told until %s",
						name, h.client, h.with(), seconds(h.until), e.depth, seconds(heard))
				}
			}
		}
	}
}

// goesOnBy returns when the client has run for that long without a stop, from a moment on: never,
// if it is stopped for good.
func (r *record) goesOnBy(client string, at, long time.Duration) time.Duration {
	by := at + long
	for _, s := range r.stops[client] { // in the order of time
		switch {
		case !s.meets(at, by):
		case s.to == never:
			return never
		default:
			by = max(by, s.to+long)
		}
	}
	return by
}
