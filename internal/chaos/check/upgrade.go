package check

import "github.com/redlock-go/redlock/internal/chaos/history"

// upgrades: a reader that asks for the same lock for writing is refused at once, because two such readers would wait
// for each other. The refusal needs no master, so no fault delays it. If the call instead returns that the reader's
// hold is over, the hold must be over.
func upgrades(r *record, b Bounds, v *Verdict) {
	for _, a := range r.asks {
		if a.to == never || !a.upgrades() {
			continue
		}
		by := r.goesOnBy(a.client, a.from, b.Notice)
		over := r.goesOnBy(a.client, a.to, b.Notice)
		switch {
		case a.held:
			v.violate(Upgrade, a.to, "%s: %s, who read, asked at %s to write, and got it", a.name, a.client, seconds(a.from))
		case a.err != history.ErrUpgrade && a.err != history.ErrCanceled && !a.reportsEnd():
			v.violate(Upgrade, a.to, "%s: %s, who read, asked at %s to write, and got: %s", a.name, a.client, seconds(a.from), a.err)
		case a.to > by && a.err != history.ErrCanceled:
			v.violate(Upgrade, by, "%s: %s, who read, asked at %s to write, and was not refused until %s", a.name, a.client, seconds(a.from), seconds(a.to))
		case a.reportsEnd() && over < r.horizon && !a.under.overBy(over):
			v.violate(Upgrade, a.to, "%s: %s, who read, asked at %s to write, and got: %s; the hold went on", a.name, a.client, seconds(a.from), a.err)
		case a.err == history.ErrUpgrade:
			v.Upgrades++
		}
	}
}
