package report

import (
	"cmp"
	"slices"
	"time"
)

// belief is a time in which a client wrongly believed to hold a lock: a newer holder had it, or the
// client went on to use it when its lease was over.
type belief struct {
	from, to time.Duration
	rival    *call // nil: the lock was free, or nobody had got it yet
}

// findWrongBeliefs notes with each hold when it was believed in wrongly. Of two holds that overlap,
// the one with the older token is the wrong one.
func findWrongBeliefs(all []*call, end time.Duration) {
	byName := map[string][]*call{}
	for _, c := range all {
		if c.held < never && c.depth <= 1 {
			byName[c.name] = append(byName[c.name], c)
		}
	}
	for _, holds := range byName {
		slices.SortStableFunc(holds, func(a, b *call) int { return cmp.Compare(a.held, b.held) })
		var current []*call // that are still acted upon
		for _, b := range holds {
			current = slices.DeleteFunc(current, func(a *call) bool { return a.acts(end) <= b.held })
			for _, a := range current {
				overlap(a, b, end)
			}
			current = append(current, b)
		}
		for _, c := range holds {
			c.actsLate(end)
			c.wrong = merged(c.wrong)
		}
	}
}

// overlap notes with the older of two holds the time in which both behaved as the holder, if there
// was any, and not both as readers.
func overlap(a, b *call, end time.Duration) {
	older, newer := a, b
	if b.order() < a.order() {
		older, newer = b, a
	}
	from := max(older.held, newer.held)
	to := min(older.acts(end), newer.acts(end), max(older.readsFrom(), newer.readsFrom()))
	if from < to {
		older.wrong = append(older.wrong, belief{from, to, newer})
	}
}

// order grows from hold to hold: a reader comes right after the writer that it was told of.
func (c *call) order() uint64 {
	if c.reads {
		return 2*c.last + 1
	}
	return 2 * c.token
}

// readsFrom is from when on the holder only reads.
func (c *call) readsFrom() time.Duration {
	if c.reads {
		return c.held
	}
	return c.down
}

// actsLate notes the time from the end of the lease to the last use after it.
func (c *call) actsLate(end time.Duration) {
	over, last := c.over(end), time.Duration(0)
	for _, u := range c.uses {
		if u.begun > over {
			last = max(last, min(u.ended, end))
		}
	}
	if last > over {
		c.wrong = append(c.wrong, belief{from: over, to: last})
	}
}

// merged makes one belief of those that overlap.
func merged(all []belief) []belief {
	slices.SortFunc(all, func(a, b belief) int { return cmp.Compare(a.from, b.from) })
	var out []belief
	for _, b := range all {
		if n := len(out); n > 0 && b.from <= out[n-1].to {
			last := &out[n-1]
			last.to = max(last.to, b.to)
			if last.rival == nil {
				last.rival = b.rival
			}
			continue
		}
		out = append(out, b)
	}
	return out
}

// believesWrongly reports whether a use of c that ended at at was made in a wrong belief.
func (c *call) believesWrongly(at time.Duration) bool {
	return slices.ContainsFunc(c.wrong, func(b belief) bool { return b.from <= at && at <= b.to })
}
