package check

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// starvation: whoever waits as long as the most patient gets the lock, if others
// do; and no call takes longer than it may.
func starvation(r *record, b Bounds, v *Verdict) {
	for _, a := range r.asks {
		to := min(a.to, r.horizon)
		took := to - a.from
		if a.waits && a.held && a.depth == 1 {
			v.LongestWait = max(v.LongestWait, took)
		}
		switch {
		case r.stopped(a.client, a.from, to) || r.meets(history.OutOfModel, a.from, to):
		case took > b.Patience+b.Hung:
			v.violate(Starvation, to, "%s: the call of %s at %s hangs: it took %s and more",
				a.name, a.client, seconds(a.from), seconds(took))
		case a.waits && a.to != never && a.err == history.ErrHeld && took >= b.Patience:
			v.violate(Starvation, to, "%s: %s waited for it from %s to %s, and was told at last that others hold it",
				a.name, a.client, seconds(a.from), seconds(a.to))
		}
	}
}

// recovery: after the end of all faults every name becomes lockable. It is seen not
// to be when somebody asks for it after the bound, or then still does, in vain.
func recovery(r *record, b Bounds, v *Verdict) {
	for _, p := range r.phases {
		if p.name != history.Healed || p.from+b.Recovery > r.horizon {
			continue
		}
		for _, name := range r.names {
			first := never
			for _, h := range r.holds[name] {
				if h.held >= p.from {
					first = h.held
					break
				}
			}
			bound := p.from + b.Recovery
			switch {
			case first <= bound:
				v.LongestRelock = max(v.LongestRelock, first-p.from)
			case slices.ContainsFunc(r.asks, func(a *ask) bool {
				return a.name == name && bound <= a.to && a.to < first && (a.to != never || a.from <= bound)
			}):
				v.violate(Recovery, bound, "%s: all faults ended at %s, and nobody could lock it within %s",
					name, seconds(p.from), b.Recovery)
			}
		}
	}
}

// outlived: the lock of a holder that died is gone a bounded time after the end of
// its lease. It is seen to be there when somebody asks after that, and is told that
// it is held, while nobody else has got it or asked for it lately.
func outlived(r *record, b Bounds, v *Verdict) {
	for _, name := range r.names {
		for i, h := range r.holds[name] {
			if h.died == never || h.died > h.until {
				continue
			}
			next := never
			if i+1 < len(r.holds[name]) {
				next = r.holds[name][i+1].held
				v.LongestTakeover = max(v.LongestTakeover, next-h.until)
			}
			for _, a := range r.asks {
				if a.name != name || a.from < h.until+b.Outlive || a.to >= next || a.err != history.ErrHeld {
					continue
				}
				if !askedByOthers(r, a, b.Outlive) && !r.meets(history.OutOfModel, h.held, a.to) {
					v.violate(Outlived, a.to, "%s: %s died at %s and its lease with token %d ended at %s; %s asked at %s, alone, and was told that it is held",
						name, h.client, seconds(h.died), h.token, seconds(h.until), a.client, seconds(a.from))
				}
			}
		}
	}
}

// askedByOthers reports whether anybody else asked for the name while a did, or so
// shortly before that what it was granted may still be there.
func askedByOthers(r *record, a *ask, shortly time.Duration) bool {
	for _, o := range r.asks {
		if o != a && o.name == a.name && o.from <= a.to && o.to >= a.from-shortly {
			return true
		}
	}
	return false
}
