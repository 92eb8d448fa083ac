package check

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/report"
)

// Figures returns the counts as people read them.
func (c Counts) Figures() []report.Figure {
	number := func(label string, n int) report.Figure { return report.Figure{Label: label, Value: fmt.Sprint(n)} }
	return []report.Figure{
		number("operations", c.Operations),
		number("holds", c.Holds),
		number("of them for reading", c.Reads),
		number("of these, while others read", c.Shared),
		number("holds in sets of names", c.InSets),
		number("downgrades", c.Downgrades),
		number("upgrades refused", c.Upgrades),
		number("holds in the phase within the fault model", c.HeldInModel),
		number("renewed holds that ended in calm", c.Calm),
		number("tries in calm for names that nobody used", c.Quiet),
		number("waits in calm for names that nobody used, and tries for sets of them", c.Alone),
		number("tries in calm right after an unlock", c.Freed),
		number("unlocks in calm while somebody waited", c.Called),
		number("re-entries", c.Reentries),
		number("renewals", c.Renewals),
		number("acquisitions that failed", c.Failed),
		number("holders told that it was over", c.ToldOf),
		number("holders killed", c.Killed),
		number("locks that operators took", c.Forced),
		number("holders that they took them from", c.ForcedOff),
		number("faults", c.Faults),
		number("faults that could not be applied", c.Failures),
		number("overlaps provoked", c.Overlaps),
		number("stale accesses refused by a guard", c.Refused),
		number("stale writes taken without one", c.Stale),
		number("lost updates read without one", c.LostUpdates),
		number("accesses of unknown outcome", c.Unknown),
		{Label: "longest wait for a lock", Value: c.LongestWait.Round(time.Millisecond).String()},
		{Label: "longest takeover from a dead holder", Value: c.LongestTakeover.Round(time.Millisecond).String()},
		{Label: "all names lockable after", Value: c.LongestRelock.Round(time.Millisecond).String()},
		number("names that nobody asked for after all faults", c.Unasked),
	}
}

// Texts returns the violations as people read them.
func (v Verdict) Texts() []string {
	var texts []string
	for _, violation := range v.Violations {
		texts = append(texts, violation.String())
	}
	return texts
}

// Moments returns when the violations happened.
func (v Verdict) Moments() []time.Duration {
	var all []time.Duration
	for _, violation := range v.Violations {
		all = append(all, violation.At)
	}
	return all
}
