package check

import "github.com/redlock-go/redlock/internal/chaos/history"

var rules = []func(*record, Bounds, *Verdict){
	exclusion, leases, tokens, forced, contextEnds, canceled, lost, reentries, unlocks, upgrades, stores, starvation, hung, recovery, leftover, alone,
}

// All judges the whole history of a run. events must be in the order of At. A call that has not ended is a violation.
func All(events []history.Event, b Bounds) (v Verdict) {
	r := parse(events, &v)
	for _, rule := range rules {
		rule(r, b, &v)
	}
	return v
}
