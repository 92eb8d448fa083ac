// Package check judges the history of a chaos run. It relies only on what clients saw: when a call began and ended,
// what it returned, and when a context under a hold ended. Faults, which their texts describe (package fault), and the
// recorded members decide which failures are excused.
//
// The function All goes over a history once for each rule, and always comes to a verdict.
//
// A claim on a name is the time in which a client works under a hold. While the faults are within the fault model, two
// valid claims on one name never overlap, unless both are for reading. Out of the model (a majority of clocks jumps,
// holders are stopped) claims may overlap. All counts the overlaps, and a run without an overlap proves nothing. In
// both cases, tokens grow, the guarded stores are right, and the contexts of holders end in time.
package check
