// Package clock reads the time and sleeps more precisely than package time, whose timers the
// runtime rounds up to milliseconds in an idle program.
package clock

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Now returns the time of a clock that all processes of the machine share, in nanoseconds.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // this clock always exists
	}
	return t.Nano()
}

// SleepUntil blocks the thread until Now has reached the given time.
func SleepUntil(then int64) {
	at := unix.NsecToTimespec(then)
	for Now() < then {
		err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil)
		if err != nil && !errors.Is(err, unix.EINTR) {
			panic(err) // the arguments are valid
		}
	}
}
