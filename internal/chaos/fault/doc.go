// Package fault defines all faults of a chaos run as values. Each fault has a text with all its parameters, which
// Parse reads, for example:
//
//	kill(m2,lost,1.2s)
//	partition(c1,m0+m3,to-server,800ms)
//	clock(m0+m1+m2,30s,2s)
//
// A Schedule of faults has a text too. A failing run prints this text, and the next run can get it as its schedule.
//
// Limits:
//   - A run cannot be repeated to the millisecond. A fault may need a thing that another fault holds: the process or
//     the clock of a master, a wire, a client. Then the fault begins only when the other fault is healed.
//   - A healed fault may leave effects. A connection that lost a message stays silent until the client gives it up, and
//     lost data stays lost.
package fault
