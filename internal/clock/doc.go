// Package clock reads the clock that measures leases: a monotonic clock of this process. On Linux, this
// clock goes on while the machine is suspended. Neither the wall clock nor the clock of a master
// measures a lease, because either may be set.
//
// The package must not depend on locks.
package clock
