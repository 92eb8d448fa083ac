package check

import (
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// leftover: what was given back, or asked for in vain, is soon free. It is seen not
// to be when somebody asks for a name, alone, and is told that it is held, though
// for some time nobody has had it or asked for it, and no fault has kept a release
// from arriving.
func leftover(r *record, b Bounds, v *Verdict) {
	for _, a := range r.asks {
		since := a.from - b.GiveBack
		if a.to == never || a.err != history.ErrHeld || a.depth != 1 || since < 0 || r.faulty(since, a.to) || r.used(a, since) {
			continue
		}
		v.violate(Leftover, a.to, "%s: %s was told at %s that it is held; nobody had it or asked for it since %s, and there was no fault",
			a.name, a.client, seconds(a.to), seconds(since))
	}
}

// faulty reports whether any fault was under way at any time between.
func (r *record) faulty(from, to time.Duration) bool {
	for _, f := range r.faults {
		if f.meets(from, to) {
			return true
		}
	}
	return false
}

// used reports whether anybody but a had its name since, or asked for it. The lock of
// one that died is as good as used until its lease would have ended.
func (r *record) used(a *ask, since time.Duration) bool {
	for _, o := range r.asks {
		if o != a && o.name == a.name && o.from <= a.to && o.to >= since {
			return true
		}
	}
	for _, h := range r.holds[a.name] {
		over := h.freed
		if h.died != never {
			over = max(h.until, h.died)
		}
		if h.held <= a.to && over >= since {
			return true
		}
	}
	return false
}
