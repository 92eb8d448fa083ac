package clock

import "time"

// Instant is a moment on this process's clock, in nanoseconds. On Linux it counts from the boot, and
// includes the time for which the machine was suspended (clock_linux.go). Elsewhere it counts from the
// start of the process. Only instants of one process can be compared.
type Instant int64

// Add returns the instant d after t.
func (t Instant) Add(d time.Duration) Instant { return t + Instant(d) }

// Sub returns the duration t - u.
func (t Instant) Sub(u Instant) time.Duration { return time.Duration(t - u) }

// Before reports whether t is earlier than u.
func (t Instant) Before(u Instant) bool { return t < u }

// After reports whether t is later than u.
func (t Instant) After(u Instant) bool { return t > u }
