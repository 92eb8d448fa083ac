// Package fault is everything that goes wrong in a chaos run, as values: a fault has a printed form
// with all its parameters, such as
//
//	kill(m2,lost,1.2s)
//	partition(c1,m0+m3,to-server,800ms)
//	clock(m0+m1+m2,30s,2s)
//
// that Parse reads again, and so has a Schedule of them. What a failing run prints can be pasted
// into the next.
//
// What is not promised:
//   - That a run repeats to the millisecond: a schedule says when a fault begins, and one that needs what another has
//     in its hands (the process or the clock of a master, a wire, a client) waits for that to be healed.
//   - That nothing is left once a fault is healed: connections on which something was lost stay silent until the client
//     gives them up, and who forgot does not remember.
package fault
