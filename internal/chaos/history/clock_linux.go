package history

import "golang.org/x/sys/unix"

// machineClock reads CLOCK_BOOTTIME: the same for all processes, nobody sets it, and it counts the
// time that the machine was suspended.
func machineClock() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		panic("history: CLOCK_BOOTTIME cannot be read: " + err.Error()) // the kernel has had it since 2.6.39
	}
	return ts.Nano()
}
