//go:build !linux

package clock

import "time"

var processStart = time.Now()

// Read reads Go's monotonic clock. Where that clock stands still in suspend, a hold may be believed
// in for as long as the machine slept: the fencing token, not the clock, is then what protects.
func Read() Instant { return Instant(time.Since(processStart)) }

// Shared reads the wall clock, the only one that processes share everywhere: what was measured
// while somebody set it proves nothing.
func Shared() Instant { return Instant(time.Now().UnixNano()) }
