package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

var boot = bootClock{clocks: goClocks(time.Now()), boottime: Shared}

// Read returns CLOCK_BOOTTIME, or a time up to slack before it. While the machine is suspended, this clock goes on, and
// Go's monotonic clock stops. Leases need a clock that goes on, because the locks on the masters expire meanwhile.
func Read() Instant { return boot.read() }

// Shared reads CLOCK_BOOTTIME itself. This clock is the same for all processes, cannot be set, and
// includes the time for which the machine was suspended.
func Shared() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// The kernel has had this clock since 2.6.39, and leases need it.
		panic("redlock: CLOCK_BOOTTIME cannot be read: " + err.Error())
	}
	return Instant(ts.Nano())
}

// goClocks returns a function that reads CLOCK_REALTIME, counted from 1970, and CLOCK_MONOTONIC, counted from start.
func goClocks(start time.Time) func() (wall, monotonic time.Duration) {
	// After March 2157, time.Now has no monotonic clock. If a process starts after that, monotonic is
	// always 0, so each call of read measures the distances.
	hasMonotonic := start != start.Round(0)
	return func() (wall, monotonic time.Duration) {
		wall = time.Duration(time.Now().UnixNano())
		if hasMonotonic {
			monotonic = time.Since(start) // this works after 2157, unlike Now().Sub
		}
		return wall, monotonic
	}
}
