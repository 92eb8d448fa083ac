package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

var boot = bootClock{clocks: goClocks(time.Now()), boottime: Shared}

// Read tells the time of CLOCK_BOOTTIME, or of a moment up to slack before. Go's monotonic clock
// stands still while the machine is suspended; the masters' leases run on, so this one must too.
func Read() Instant { return boot.read() }

// Shared reads CLOCK_BOOTTIME itself: the same for all processes, nobody sets it, and it counts the
// time that the machine was suspended.
func Shared() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// The kernel has had this clock since 2.6.39, and no lease can be reckoned without one.
		panic("redlock: CLOCK_BOOTTIME cannot be read: " + err.Error())
	}
	return Instant(ts.Nano())
}

// goClocks returns what reads CLOCK_REALTIME since 1970, and CLOCK_MONOTONIC since start.
func goClocks(start time.Time) func() (wall, monotonic time.Duration) {
	// Package time has no monotonic clock in a time after March 2157. A process that starts when
	// the wall clock says so has 0 instead, so each reading looks.
	hasMonotonic := start != start.Round(0)
	return func() (wall, monotonic time.Duration) {
		wall = time.Duration(time.Now().UnixNano())
		if hasMonotonic {
			monotonic = time.Since(start) // not Now().Sub, for the same reason
		}
		return wall, monotonic
	}
}
