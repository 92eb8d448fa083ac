package check

import "github.com/redlock-go/redlock/internal/chaos/history"

// rules of the sweep.
var rules = []func(*record, Bounds, *Verdict){
	exclusion, leases, tokens, forced, told, canceled, lost, reentries, unlocks, upgrades, stores, starvation, overtaken, hung, recovery, outlived, leftover, alone, freed, called,
}

// Sweep judges events, which are in the order of At, by all rules but Linear. The history may be
// the beginning of one.
func Sweep(events []history.Event, b Bounds) Verdict {
	v, _ := sweepRecord(events, b, false)
	return v
}

// All judges the whole history of a run by all rules: every call has ended.
func All(events []history.Event, b Bounds) Verdict {
	v, r := sweepRecord(events, b, true)
	linear(r, b, &v)
	return v
}

func sweepRecord(events []history.Event, b Bounds, whole bool) (Verdict, *record) {
	var v Verdict
	r := parse(events, &v)
	r.whole = whole
	for _, rule := range rules {
		rule(r, b, &v)
	}
	return v, r
}
