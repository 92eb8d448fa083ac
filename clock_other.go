//go:build !linux

package redlock

import "time"

var processStart = time.Now()

// readClock reads Go's monotonic clock. Where that clock stands still in
// suspend, a hold may be believed in for as long as the machine slept: the
// fencing token, not the clock, is then what protects.
func readClock() instant { return instant(time.Since(processStart)) }
