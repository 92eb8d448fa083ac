package check

import "time"

// contextEnds: the context of each entry ends soon after the lease, unless the unlock of the entry had begun by then.
// In a stopped process the context ends soon after the process continues. The rule exclusion judges whether the context
// ends before another client holds the lock. A holder that died within a ttl after the recorded end of its lease is not
// judged: late votes may have extended the lease by up to a ttl, and a holder records this only when its context ends
// or when it unlocks.
func contextEnds(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			by := r.goesOnBy(h.client, h.until, b.Notice)
			if by >= r.horizon || h.died <= by+h.ttl {
				continue
			}
			for _, e := range h.entries {
				if end := min(e.over, e.freed); end > by && e.left > h.until {
					v.violate(Notified, by, "%s: the lease of %s %s ended at %s, and its entry %d did not notice until %s",
						name, h.client, h.with(), seconds(h.until), e.depth, seconds(end))
				}
			}
		}
	}
}

// goesOnBy returns when the client, from the given time on, has run for the given duration without a stop. If the
// client is stopped for good, it returns the constant never.
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
