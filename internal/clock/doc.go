// Package clock reads the clock that leases are measured with. It is a monotonic clock of this
// process. Where the system has a clock that goes on while the machine is suspended, it is that clock.
//
// It must not depend on locks. Neither the wall clock nor the clock of a master measures a lease,
// because either may be set.
package clock
