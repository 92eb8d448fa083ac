// Package clock reads the clock that leases are reckoned by: a monotonic one of
// this process that goes on while the machine is suspended, where the system has
// one. It knows nothing of locks. It must not know the wall clock, or a master's:
// either may be set.
package clock
