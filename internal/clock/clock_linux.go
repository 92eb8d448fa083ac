package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

var boot = bootClock{clocks: goClocks(time.Now()), boottime: Shared}

// Read returns the time of CLOCK_BOOTTIME, or up to slack less. Go's monotonic clock stops while
// the machine is suspended; the masters' leases run on, so this clock must run on, too.
func Read() Instant { return boot.read() }

// Shared reads CLOCK_BOOTTIME itself: it is the same for all processes, cannot be set, and counts
// the time for which the machine was suspended.
func Shared() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// The kernel has had this clock since 2.6.39, and leases need it.
		panic("redlock: CLOCK_BOOTTIME cannot be read: " + err.Error())
	}
	return Instant(ts.Nano())
}

// goClocks returns a function that reads CLOCK_REALTIME since 1970, and CLOCK_MONOTONIC since
// start.
func goClocks(start time.Time) func() (wall, monotonic time.Duration) {
	// Package time has no monotonic clock in a time after March 2157. If a process starts then,
	// monotonic is always 0, so each reading looks.
	hasMonotonic := start != start.Round(0)
	return func() (wall, monotonic time.Duration) {
		wall = time.Duration(time.Now().UnixNano())
		if hasMonotonic {
			monotonic = time.Since(start) // this works after 2157, unlike Now().Sub
		}
		return wall, monotonic
	}
}
