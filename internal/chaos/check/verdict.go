package check

import (
	"fmt"
	"strings"
	"time"
)

// The rules, by the names under which violations are reported.
const (
	Exclusion    = "exclusion"     // two valid claims on a name overlap, and not both are for reading
	Lease        = "lease"         // a lease lasts for longer than was asked for
	Tokens       = "tokens"        // a token came twice, or did not grow, or a reader had one
	Upgrade      = "upgrade"       // a reader asked for the lock for writing, and was not refused at once
	Reentry      = "reentry"       // a hold could not be entered again, or one that was over could
	Unlock       = "unlock"        // the unlock of a healthy hold failed, or said that there had been one
	Wrote        = "wrote"         // a reader wrote
	Forced       = "forced"        // the token of an operator who took a lock is out of order, or a holder did not lose it in time
	Told         = "told"          // a holder was not told that its lease had ended, or was told that its client had, which went on
	Lost         = "lost"          // a renewed hold was lost in spite of a quorum that nothing hurt
	Stale        = "stale"         // a holder that was not told came to a store after a newer one
	Fence        = "fence"         // a guard took a write that it had to refuse, or the reverse
	Kept         = "kept"          // an acknowledged write was not there afterwards
	Starvation   = "starvation"    // a waiter did not get what others got, or was not called, or hangs
	Outlived     = "outlived"      // a lock was there long after its owner had died
	Leftover     = "leftover"      // a lock was there long after it was given back, or nobody could get it
	Members      = "members"       // the members could not be restored after all was healed
	Recovery     = "recovery"      // a name was not lockable after all was healed
	BrokenRecord = "broken record" // the history itself makes no sense
)

// Violation is one breach of a rule.
type Violation struct {
	Rule string
	At   time.Duration // on the run's clock
	Text string        // a sentence with who, what and when
}

// String returns the violation on one line.
func (v Violation) String() string {
	return fmt.Sprintf("%10.3fs %s: %s", v.At.Seconds(), v.Rule, v.Text)
}

// Counts are what a history has in it.
type Counts struct {
	Operations  int // calls of clients that ended, on locks and stores
	Holds       int // fresh acquisitions
	Reads       int // of them, those for reading
	Shared      int // of these, those that began while others read
	InSets      int // of the holds, those of several names that were had together
	Downgrades  int // of which a quorum of masters heard
	Upgrades    int // that were refused
	HeldInModel int // of them, those in the phase within the fault model
	Calm        int // renewed holds that ended in calm: no fault would have excused their loss
	Quiet       int // tries for a name that nobody used, in calm
	Alone       int // waits for names that nobody used, and tries for several of them, in calm
	Freed       int // tries right after an unlock, in calm
	Called      int // unlocks while somebody waited, in calm
	Reentries   int
	Renewals    int
	Failed      int // acquisitions that failed
	ToldOf      int // holders told that their lease had ended or was lost
	Killed      int // holders that died holding
	Forced      int // locks that operators took, with a token
	ForcedOff   int // holders that lived, and had them until then

	Overlaps      int // pairs of valid claims, outside of the fault model
	Refused       int // stale writes and reads that a guard refused
	Stale         int // stale writes that the unguarded store took, outside of the fault model
	LostUpdates   int // reads of the unguarded store that missed a newer holder's write
	Unknown       int // accesses to stores of unknown outcome
	Faults        int // that were applied
	FaultsByKind  map[string]int
	Failures      int // faults that could not be applied, or not as they should
	FailedByKind  map[string]int
	LongestWait   time.Duration // of a waiter that got the lock
	LongestRelock time.Duration // of a name, from when it was first asked for after the end of all faults
	Unasked       int           // names that clients shared, and that nobody asked for after the end of all faults

	// LongestTakeover is the longest from the end of the lease of a holder that died until the next
	// had the lock.
	LongestTakeover time.Duration
}

// Verdict is what a history is found to be.
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
	v.Operations += o.Operations
	v.Holds += o.Holds
	v.Reads += o.Reads
	v.Shared += o.Shared
	v.InSets += o.InSets
	v.Downgrades += o.Downgrades
	v.Upgrades += o.Upgrades
	v.HeldInModel += o.HeldInModel
	v.Calm += o.Calm
	v.Quiet += o.Quiet
	v.Alone += o.Alone
	v.Freed += o.Freed
	v.Called += o.Called
	v.Reentries += o.Reentries
	v.Renewals += o.Renewals
	v.Failed += o.Failed
	v.ToldOf += o.ToldOf
	v.Killed += o.Killed
	v.Forced += o.Forced
	v.ForcedOff += o.ForcedOff
	v.Overlaps += o.Overlaps
	v.Refused += o.Refused
	v.Stale += o.Stale
	v.LostUpdates += o.LostUpdates
	v.Unknown += o.Unknown
	v.Faults += o.Faults
	v.Failures += o.Failures
	v.FaultsByKind = added(v.FaultsByKind, o.FaultsByKind)
	v.FailedByKind = added(v.FailedByKind, o.FailedByKind)
	v.LongestWait = max(v.LongestWait, o.LongestWait)
	v.Unasked += o.Unasked
	v.LongestRelock = max(v.LongestRelock, o.LongestRelock)
	v.LongestTakeover = max(v.LongestTakeover, o.LongestTakeover)
}

func added(a, b map[string]int) map[string]int {
	sum := map[string]int{}
	for _, some := range []map[string]int{a, b} {
		for kind, n := range some {
			sum[kind] += n
		}
	}
	return sum
}

// Missing returns what the run did not provoke and so does not prove; "" if it proves both sides.
func (v *Verdict) Missing() string {
	var missing []string
	if v.HeldInModel == 0 {
		missing = append(missing, "nothing was held within the fault model")
	}
	if v.Overlaps == 0 {
		missing = append(missing, "no two valid claims overlapped outside of the fault model")
	}
	if v.Refused == 0 {
		missing = append(missing, "no stale write was refused by a guard")
	}
	if v.Stale == 0 {
		missing = append(missing, "outside of the fault model, no stale write went through to the unguarded store")
	}
	if len(missing) == 0 {
		return ""
	}
	return "this run proves nothing: " + strings.Join(missing, ", ")
}
