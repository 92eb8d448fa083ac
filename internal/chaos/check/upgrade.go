package check

import "github.com/redlock-go/redlock/internal/chaos/history"

// upgrades: a reader that asks for the same lock for writing is refused at once, because two
// that waited would wait for each other. Or the reader hears that its hold is over.
func upgrades(r *record, _ Bounds, v *Verdict) {
	for _, a := range r.asks {
		if a.to == never || !a.upgrades() {
			continue
		}
		switch a.err {
		case history.ErrUpgrade:
			v.Upgrades++
			continue
		case history.ErrLost, history.ErrExpired, history.ErrReleased, history.ErrCanceled:
			continue
		}
		became := "got it"
		if !a.held {
			became = "was told: " + a.err
		}
		v.violate(Upgrade, a.to, "%s: %s, who read, asked at %s to write, and %s", a.name, a.client, seconds(a.from), became)
	}
}
