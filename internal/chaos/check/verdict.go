package check

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"
)

// The rules, by their names in violations.
const (
	Exclusion    = "exclusion"     // two valid claims on a name overlap, and not both are for reading
	Lease        = "lease"         // a lease lasts longer than was asked for
	Tokens       = "tokens"        // a token came twice, or did not grow, or a reader had a token
	Upgrade      = "upgrade"       // a reader asked for the lock for writing, and was not refused at once
	Reentry      = "reentry"       // a healthy hold could not be re-entered, or an ended hold could be
	Unlock       = "unlock"        // the unlock of a healthy hold failed, or reported an earlier unlock
	Wrote        = "wrote"         // a reader wrote
	Forced       = "forced"        // an operator's token is out of order, or a holder did not lose its lock in time
	Notified     = "notified"      // a context did not end with its lease, or was cancelled although its client had not ended
	Lost         = "lost"          // a renewed hold was lost in spite of an unhurt quorum
	Stale        = "stale"         // a holder whose context had not ended came to a store after a newer holder
	Fence        = "fence"         // a guard accepted a stale access, or refused another access
	Durable      = "durable"       // an acknowledged write was missing afterwards
	Starvation   = "starvation"    // a waiter did not get a lock that others got, or a call hangs
	Leftover     = "leftover"      // a lock remained long after its release, or a free lock could not be acquired
	Members      = "members"       // the members could not be restored after all faults had ended
	Recovery     = "recovery"      // a name was not lockable after all faults had ended
	BrokenRecord = "broken record" // the history is inconsistent
)

// Violation is one breach of a rule.
type Violation struct {
	Rule string
	At   time.Duration // on the run's clock
	Text string        // a sentence with client, event and time
}

// String returns the violation on one line.
func (v Violation) String() string {
	return fmt.Sprintf("%10.3fs %s: %s", v.At.Seconds(), v.Rule, v.Text)
}

// Counts are the figures of a history. Each figure has a label for people.
type Counts struct {
	Operations    int `label:"operations"` // ended calls on locks and stores
	Holds         int `label:"holds"`      // fresh acquisitions
	Reads         int `label:"of them for reading"`
	Shared        int `label:"of these, while others read"`
	InSets        int `label:"holds in sets of names"`
	Downgrades    int `label:"downgrades"` // that reached a quorum of masters
	Upgrades      int `label:"upgrades refused"`
	HeldInModel   int `label:"holds in the phase within the fault model"`
	Calm          int `label:"renewed holds that ended in calm"` // no fault excused their loss
	Quiet         int `label:"tries in calm for names that nobody used"`
	Alone         int `label:"waits in calm for names that nobody used, and tries for sets of them"`
	Reentries     int `label:"re-entries"`
	Renewals      int `label:"renewals"`
	Failed        int `label:"acquisitions that failed"`
	ContextsEnded int `label:"contexts that ended before the unlock"`
	Killed        int `label:"holders killed"`
	Forced        int `label:"locks that operators took"` // with a token
	ForcedOff     int `label:"holders that they took them from"`

	Faults       int            `label:"faults"`
	FaultsByKind map[string]int `label:"faults by kind"`
	Failures     int            `label:"faults that could not be applied"` // or were not applied as planned
	FailedByKind map[string]int `label:"faults that could not be applied, by kind"`

	Overlaps    int `label:"overlaps provoked"`                 // pairs of valid claims, outside of the fault model
	Refused     int `label:"stale accesses refused by a guard"` // writes and reads
	Stale       int `label:"stale writes taken without one"`    // outside of the fault model
	LostUpdates int `label:"lost updates read without one"`     // reads that missed a newer holder's write
	Unknown     int `label:"accesses of unknown outcome"`       // to stores

	LongestWait   time.Duration `label:"longest wait for a lock"`
	LongestRelock time.Duration `label:"all names lockable after"` // counted for each name from its first request after all faults
}

// Figures returns one line of text for each count.
func (c Counts) Figures() (lines []string) {
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		value := v.Field(i).Interface()
		if d, is := value.(time.Duration); is {
			value = d.Round(time.Millisecond)
		}
		lines = append(lines, fmt.Sprintf("%s: %v", v.Type().Field(i).Tag.Get("label"), value))
	}
	return lines
}

// add adds the counts of another history. Of two durations, it keeps the longer one.
func (c *Counts) add(o Counts) {
	sum, other := reflect.ValueOf(c).Elem(), reflect.ValueOf(o)
	for i := range sum.NumField() {
		switch field := sum.Field(i).Addr().Interface().(type) {
		case *int:
			*field += int(other.Field(i).Int())
		case *time.Duration:
			*field = max(*field, time.Duration(other.Field(i).Int()))
		case *map[string]int:
			all := maps.Clone(*field)
			if all == nil {
				all = map[string]int{}
			}
			for kind, n := range other.Field(i).Interface().(map[string]int) {
				all[kind] += n
			}
			*field = all
		}
	}
}

// Verdict is the result of judging a history.
type Verdict struct {
	Counts
	Violations []Violation
}

func (v *Verdict) violate(rule string, at time.Duration, format string, args ...any) {
	v.Violations = append(v.Violations, Violation{rule, at, fmt.Sprintf(format, args...)})
}

// Add adds the verdict on another history.
func (v *Verdict) Add(o Verdict) {
	v.Violations = append(v.Violations, o.Violations...)
	v.add(o.Counts)
}

// Missing describes what the run should have provoked but did not. It returns "" if nothing is missing.
func (v Verdict) Missing() string {
	var missing []string
	for _, c := range []struct {
		n    int
		what string
	}{
		{v.HeldInModel, "nothing was held within the fault model"},
		{v.Overlaps, "no two valid claims overlapped outside of the fault model"},
		{v.Refused, "no stale write was refused by a guard"},
		{v.Stale, "outside of the fault model, no stale write went through to the unguarded store"},
	} {
		if c.n == 0 {
			missing = append(missing, c.what)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "this run proves nothing: " + strings.Join(missing, ", ")
}
