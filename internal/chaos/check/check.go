package check

import "github.com/redlock-go/redlock/internal/chaos/history"

var rules = []func(*record, Bounds, *Verdict){
	exclusion, leases, tokens, forced, told, canceled, lost, reentries, unlocks, upgrades, stores, starvation, hung, recovery, leftover, alone,
}

// All judges the whole history of a run, whose events are in the order of At: every call has ended.
func All(events []history.Event, b Bounds) (v Verdict) {
	r := parse(events, &v)
	for _, rule := range rules {
		rule(r, b, &v)
	}
	return v
}
