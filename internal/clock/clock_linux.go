package clock

import (
	"golang.org/x/sys/unix"
)

// Read reads CLOCK_BOOTTIME. Go's monotonic clock stands still while the
// machine is suspended; the masters' leases run on, so this one must too.
func Read() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// The kernel has had this clock since 2.6.39, and no lease can be
		// reckoned without one.
		panic("redlock: CLOCK_BOOTTIME cannot be read: " + err.Error())
	}
	return Instant(ts.Nano())
}
