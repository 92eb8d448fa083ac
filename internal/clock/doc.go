// Package clock reads the clock that leases are measured with. It is a monotonic clock of this
// process. Where the system has one that goes on while the machine is suspended, it is that one.
//
// It knows nothing of locks. It must not know the wall clock, or the clock of a master: either may
// be set.
package clock
