package check

// told: everybody who works under a hold hears soon that its lease ran out, unless the
// process was stopped then, or they had left by themselves. Each entry has a context of
// its own. (That they hear of it before anybody else can hold the lock is what exclusion
// demands.) If a holder died within a ttl after the recorded end of its lease, nobody knows
// whether that was the end: late votes may have moved the end by a ttl at most, and the
// holder records that only when it is told or leaves.
func told(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			by := h.until + b.Told
			if by >= r.horizon || h.died <= by+h.ttl || r.stopped(h.client, h.until, by) {
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
