package check

// overtaken: readers that come later do not get the lock before a writer that waits. A writer waits
// once it stands in line on a quorum of masters, which takes its time (Bounds.GiveBack); it stands
// there by itself if nobody else of its client wants the name. A caller that waits for several
// names stands in line for one of them. While faults are under way, masters may have different
// orders. And in the turn of one caller a client may serve other callers of its own.
func overtaken(r *record, b Bounds, v *Verdict) {
	for _, a := range r.asks {
		if !a.waits || a.reads || a.set > 0 || a.depth != 1 {
			continue
		}
		since := a.from - b.GiveBack
		for _, h := range r.holds[a.name] {
			if !h.reads || h.asked < a.from+b.GiveBack || h.held >= a.to ||
				r.stopped(a.client, since, h.held) || r.faulty(since, h.held) ||
				!r.calm(a.client, since, h.held, b) || !r.calm(h.client, since, h.held, b) || r.wanted(a, h) || r.ownTurn(a, h, b) {
				continue
			}
			v.violate(Starvation, h.held, "%s: %s has waited for it since %s to write, and there was no fault; %s asked at %s to read and got it at %s",
				a.name, a.client, seconds(a.from), h.client, seconds(h.asked), seconds(h.held))
		}
	}
}

// wanted reports whether anybody else of a's client asked for the name or had it, since a did and
// until h was had.
func (r *record) wanted(a *ask, h *hold) bool {
	for _, o := range r.asks {
		if o != a && o.client == a.client && o.name == a.name && o.from <= h.held && o.to >= a.from {
			return true
		}
	}
	for _, o := range r.holds[a.name] {
		if o.client == a.client && o.held <= h.held && min(o.freed, o.died) >= a.from {
			return true
		}
	}
	return false
}

// ownTurn reports whether h may have been had in the turn of another caller of its client, who
// wants to write and stood in line no later than a: a client may then serve its own callers for 10
// ms. A caller who waits for several names gives a turn back when it does not get them all, and no
// history tells of that.
func (r *record) ownTurn(a *ask, h *hold, b Bounds) bool {
	for _, o := range r.asks {
		if o.client == h.client && o.name == a.name && o.waits && !o.reads && o.depth == 1 &&
			o.from < a.from+b.GiveBack && o.to >= h.held-b.GiveBack {
			return true
		}
	}
	return false
}
