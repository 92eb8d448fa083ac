package check

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// alone: in calm (see record.calm), a caller that waits for an unused name gets the name within b.GiveBack + b.Notice.
// A caller that asks for a set of unused names gets all of them with one try.
func alone(r *record, b Bounds, v *Verdict) {
	for _, all := range r.together() {
		a := all[0]
		if a.depth != 1 || !a.waits && a.set == 0 {
			continue
		}
		since, to := a.from-b.GiveBack, a.to
		if a.waits {
			to = a.from + b.GiveBack + b.Notice
		}
		if to >= r.horizon || a.waits && a.to <= to && !a.held || a.err == history.ErrCanceled && !a.waits || !r.calmTogether(all, since, to, b) {
			continue
		}
		v.Alone++
		switch {
		case a.held && a.to <= to:
		case a.waits:
			v.violate(Leftover, to, "%s: %s asked at %s for %s, and waited for longer than %s; nobody had asked for that or had it since %s, and a quorum was unhurt",
				a.name, a.client, seconds(a.from), namesOf(all), b.GiveBack+b.Notice, seconds(since))
		default:
			v.violate(Leftover, a.to, "%s: %s tried at %s to get %s and got: %s; nobody had asked for that or had it since %s, and a quorum was unhurt",
				a.name, a.client, seconds(a.from), namesOf(all), a.err, seconds(since))
		}
	}
}

// together returns the asks of each call: one ask, or one ask for each name of a set.
func (r *record) together() [][]*ask {
	sets := map[callKey]int{}
	var all [][]*ask
	for _, a := range r.asks {
		if a.set == 0 {
			all = append(all, []*ask{a})
			continue
		}
		i, known := sets[a.of]
		if !known {
			i = len(all)
			sets[a.of], all = i, append(all, nil)
		}
		all[i] = append(all[i], a)
	}
	return all
}

// calmTogether reports whether no other caller used the names of a call, and the client had a quorum of masters that no
// fault hurt and that keep no remains of earlier users.
func (r *record) calmTogether(all []*ask, since, to time.Duration, b Bounds) bool {
	var left fault.Masters
	for _, a := range all {
		if r.used(a, since, to, b) || r.copied(a, since) {
			return false
		}
		left |= r.left(a, since, to, b)
	}
	client := all[0].client
	return r.calm(client, since, to, b) && r.calmWithout(client, left, since, to, b)
}

func namesOf(all []*ask) (names []string) {
	for _, a := range all {
		names = append(names, a.name)
	}
	slices.Sort(names)
	return names
}
