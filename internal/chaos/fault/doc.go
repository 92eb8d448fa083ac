// Package fault defines all faults of a chaos run as values. A fault has a text
// with all its parameters, such as
//
//	kill(m2,lost,1.2s)
//	partition(c1,m0+m3,to-server,800ms)
//	clock(m0+m1+m2,30s,2s)
//
// that Parse reads. A Schedule of faults has a text too: the text that a failing run prints can be pasted
// into the next run.
//
// What is not promised:
//   - That a run repeats to the millisecond: a schedule says when a fault begins, and a fault that needs a thing that
//     another fault holds (the process or the clock of a master, a wire, a client) waits until that is healed.
//   - That a healed fault leaves nothing: connections that lost a message stay silent until the client
//     gives them up, and lost data stays lost.
package fault
