//go:build !linux

package clock

import "time"

var processStart = time.Now()

// Read reads Go's monotonic clock. Where this clock stops while the machine is suspended, a hold may
// still look valid afterwards: then only the fencing token protects.
func Read() Instant { return Instant(time.Since(processStart)) }

// Shared reads the wall clock: no other clock is the same for all processes on all systems. A
// measurement is void if somebody set the wall clock meanwhile.
func Shared() Instant { return Instant(time.Now().UnixNano()) }
