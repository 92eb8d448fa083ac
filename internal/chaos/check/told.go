package check

// told: a holder whose lease ran out hears of it soon, unless its process was
// stopped then, or had left by itself. (That it hears of it before anybody else can
// hold the lock is what exclusion demands.)
func told(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		for _, h := range r.holds[name] {
			by := h.until + b.Told
			heard := min(h.told, h.freed)
			if by > r.horizon || heard <= by || h.left <= h.until || h.died <= by || r.stopped(h.client, h.until, by) {
				continue
			}
			v.violate(Told, by, "%s: the lease of %s with token %d ended at %s, and it was not told until %s",
				name, h.client, h.token, seconds(h.until), seconds(heard))
		}
	}
}
