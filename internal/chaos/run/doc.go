// Package run connects the parts of a chaos run: real masters (package cluster), Redis and PostgreSQL as stores, client
// processes (internal/chaos/client), a schedule of faults (package fault) and the checks (package check).
//
// A run is a sequence of rounds, each with masters, clients, a history and a verdict of its own, so that a long run
// needs no more memory than a short one. A round has three phases: faults within the fault model, faults out of the
// model, and no faults. In the last phase, every name must become lockable again.
//
// For each client process, a goroutine waits for the end of the process. Other goroutines apply the faults. Run waits
// for all goroutines.
package run
