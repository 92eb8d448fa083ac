// Package check judges the history of a chaos run. It believes only what clients saw: when a call
// began and ended, what it returned, and when those who worked under a hold were told that it is
// over. What excuses a failure are the faults, as their text tells (package fault), and who the
// members were seen to be.
//
// All goes over a history once for each rule, and always decides.
//
// Two sides are judged. While the faults are those of the fault model, two valid claims on one name
// never overlap. Outside of it (a majority of clocks jumps, holders are stopped) they may: overlaps
// are counted, and a run without any proves nothing. In both, tokens grow, the guarded stores are
// right, and holders are told.
package check
