package check

// exclusion: a claim begins after all earlier ones on the name have ended. A claim
// that was over before its holder could know of it is none.
func exclusion(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		var last *hold // of those before, the claim that ends last
		for _, h := range r.holds[name] {
			if h.end() <= h.held {
				continue
			}
			if last != nil && last.end() > h.held {
				if !r.inModel(h.held, b.Recovery) {
					v.Overlaps++
				} else {
					v.violate(Exclusion, h.held, "%s: %s held it with token %d until %s, and was not told before; %s held it with token %d from %s",
						name, last.client, last.token, seconds(last.end()), h.client, h.token, seconds(h.held))
				}
			}
			if last == nil || h.end() > last.end() {
				last = h
			}
		}
	}
}
