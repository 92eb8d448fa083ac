package check

import "github.com/redlock-go/redlock/internal/chaos/history"

// rules of the sweep.
var rules = []func(*record, Bounds, *Verdict){exclusion, tokens, told, stores, starvation, recovery, outlived, leftover}

// Sweep judges events, which are in the order of At, by all rules but Linear. The
// history may be the beginning of one.
func Sweep(events []history.Event, b Bounds) Verdict {
	v, _ := sweepRecord(events, b)
	return v
}

// All judges the whole history of a run by all rules.
func All(events []history.Event, b Bounds) Verdict {
	v, r := sweepRecord(events, b)
	linear(r, b, &v)
	return v
}

func sweepRecord(events []history.Event, b Bounds) (Verdict, *record) {
	var v Verdict
	r := parse(events, &v)
	for _, rule := range rules {
		rule(r, b, &v)
	}
	return v, r
}
