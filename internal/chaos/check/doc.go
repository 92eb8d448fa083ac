// Package check judges the history of a chaos run. It relies only on what clients saw: when a call
// began and ended, what it returned, and when a context under a hold ended. Failures are excused by
// faults, as their text describes them (package fault), and by the members that were seen.
//
// All goes over a history once for each rule, and always decides.
//
// Two sides are judged. While the faults are within the fault model, two valid claims on one name
// never overlap. Outside of it (a majority of clocks jumps, holders are stopped) they may overlap: overlaps
// are counted, and a run without an overlap proves nothing. On both sides, tokens grow, the guarded stores
// are right, and the contexts of holders end in time.
package check
