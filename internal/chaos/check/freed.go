package check

import "github.com/redlock-go/redlock/internal/chaos/history"

// freed: after an unlock that succeeded, the next try gets the lock, however soon it comes. The
// unlock has freed the lock on a quorum, whose masters nobody knows: so the rule is about clients
// that can rely on all members. It is about names that nobody asks for at the same time, or has
// asked for in vain lately.
func freed(r *record, b Bounds, v *Verdict) {
	for _, a := range r.asks {
		since := a.from - b.GiveBack
		if a.to == never || a.set > 0 || a.depth != 1 || a.waits || a.err == history.ErrCanceled || since < 0 {
			continue
		}
		h := r.freedFor(a, b)
		if h == nil || r.copied(a, since) || !r.calm(a.client, since, a.to, b) || !r.calmAlone(a, since, a.to, b) {
			continue
		}
		if _, bad := r.unhurt(a.client, since, a.to, b); bad != 0 {
			continue
		}
		v.Freed++
		if !a.held {
			v.violate(Leftover, a.to, "%s: %s tried to get it at %s and was told: %s; %s had unlocked it at %s, and nobody else had it or asked for it since",
				a.name, a.client, seconds(a.from), a.err, h.client, seconds(h.freed))
		}
	}
}

// freedFor returns the hold that was unlocked lately, and for certain, before a asked for its name;
// nil if there is none, or anything else may be in the way of a.
func (r *record) freedFor(a *ask, b Bounds) (last *hold) {
	since := a.from - b.GiveBack
	if r.used(a, a.from, a.to, b) || r.forcedBetween(a.name, since, a.to) {
		return nil
	}
	for _, o := range r.asks {
		if o != a && o.name == a.name && !o.held && o.from <= a.to && o.to >= since {
			return nil
		}
	}
	for _, h := range r.holds[a.name] {
		switch {
		case h.held >= a.from || min(h.freed, h.died) < since:
		case h.err != "" || h.died != never:
			return nil
		case last == nil || h.freed > last.freed:
			last = h
		}
	}
	return last
}
