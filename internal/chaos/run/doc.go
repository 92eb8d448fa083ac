// Package run connects the parts of a chaos run: real masters (package cluster), two stores, client processes
// (internal/chaos/client), a schedule of faults (package fault) and the checks (package check).
//
// A run is a sequence of rounds, each with masters, clients, a history and a verdict of its own, so
// that a long run needs no more memory than a short one. A round has three phases: faults within
// the fault model; faults outside of it; and none, in which everything must become lockable again.
//
// Goroutines: one for each client process, which waits for its end; in each round one for the
// faults. Run waits for all of them.
package run
