package clock

import (
	"time"

	"golang.org/x/sys/unix"
)

var boot = bootClock{clocks: goClocks, boottime: boottime}

// Read tells the time of CLOCK_BOOTTIME, or of a moment up to slack before. Go's
// monotonic clock stands still while the machine is suspended; the masters' leases
// run on, so this one must too.
func Read() Instant { return boot.read() }

func boottime() Instant {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		// The kernel has had this clock since 2.6.39, and no lease can be
		// reckoned without one.
		panic("redlock: CLOCK_BOOTTIME cannot be read: " + err.Error())
	}
	return Instant(ts.Nano())
}

var processStart = time.Now()

// goClocks reads what package time reads: CLOCK_REALTIME since 1970, and
// CLOCK_MONOTONIC since the process started.
func goClocks() (wall, monotonic time.Duration) {
	now := time.Now()
	return time.Duration(now.UnixNano()), now.Sub(processStart)
}
