// Package check judges the history of a chaos run. It relies only on what clients saw: when a call began and ended,
// what the call returned, and when a context under a hold ended. Which failures are excused depends on the recorded
// faults (package fault parses their texts) and on the recorded members.
//
// The function All applies each rule to the whole history, and always returns a verdict.
//
// A claim on a name is the time in which a client works under a hold. While the faults are within the fault model, two
// valid claims on one name never overlap, unless both are for reading. Out of the model (a majority of clocks jumps,
// holders are stopped) claims may overlap. The overlaps are counted, because a run without an overlap does not test the
// guards. In both cases, tokens grow, the guarded stores accept no stale access, and the contexts of holders end in time.
package check
