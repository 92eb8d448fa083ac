//go:build !linux

package clock

import "time"

var processStart = time.Now()

// Read reads Go's monotonic clock. Where it stops during suspend, a hold may look valid for as long
// as the machine slept: then only the fencing token protects.
func Read() Instant { return Instant(time.Since(processStart)) }

// Shared reads the wall clock, the only clock that processes share everywhere. A measurement
// during which the wall clock was set proves nothing.
func Shared() Instant { return Instant(time.Now().UnixNano()) }
