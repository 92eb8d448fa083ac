package check

import "github.com/redlock-go/redlock/internal/chaos/history"

// rules of the sweep.
var rules = []func(*record, Bounds, *Verdict){
	exclusion, leases, tokens, forced, told, canceled, lost, reentries, unlocks, upgrades, stores, starvation, overtaken, hung, recovery, outlived, leftover, alone, freed, called,
}

// Sweep judges events, which are in the order of At, by all rules. The history may be the beginning
// of one.
func Sweep(events []history.Event, b Bounds) Verdict { return judge(events, b, false) }

// All judges the whole history of a run: every call has ended.
func All(events []history.Event, b Bounds) Verdict { return judge(events, b, true) }

func judge(events []history.Event, b Bounds, whole bool) (v Verdict) {
	r := parse(events, &v)
	r.whole = whole
	for _, rule := range rules {
		rule(r, b, &v)
	}
	return v
}
