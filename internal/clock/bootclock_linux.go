package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// bootClock reads CLOCK_BOOTTIME, which is CLOCK_MONOTONIC plus the time for which the machine was
// suspended. Go reads CLOCK_MONOTONIC and the wall clock without a system call, but not
// CLOCK_BOOTTIME. Where the kernel is guarded against Meltdown, a system call takes 1.5 µs, some
// twenty times as long. An acquisition with its release reads the clock some sixteen times.
//
// So bootClock keeps by how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, and measures it again
// when the machine may have been suspended. The wall clock shows a suspend: in one step, the
// kernel adds the suspended time to the wall clock and to CLOCK_BOOTTIME
// (__timekeeping_inject_sleeptime in Linux's kernel/time/timekeeping.c). So the wall clock moves
// away from CLOCK_MONOTONIC. Otherwise it moves away only when it is set, which costs one needless
// measurement. (NTP's slewing changes the rate of all three clocks alike.) A suspend would be
// missed only if the wall clock was set back by the same time before the next reading.
type bootClock struct {
	clocks   func() (wall, monotonic time.Duration)
	boottime func() Instant

	mu    sync.Mutex // held during look
	known atomic.Pointer[distances]
}

// distances are the distances of the clocks from CLOCK_MONOTONIC. They are constant until the
// machine is suspended or the wall clock is set.
type distances struct {
	wall time.Duration
	boot Instant // too short by at most slack
}

// slack is the largest difference between two readings of the same clocks that is attributed to the
// time of reading them. No suspend is so short. The drift allowance of a lease (driftBase) is
// twenty times as much.
const slack = 100 * time.Microsecond

// unchanged reports whether a reading of the clocks shows the same distances.
func (d *distances) unchanged(wall, monotonic time.Duration) bool {
	return d != nil && (wall-monotonic-d.wall).Abs() <= slack
}

func (c *bootClock) read() Instant {
	wall, monotonic := c.clocks()
	d := c.known.Load()
	if !d.unchanged(wall, monotonic) {
		d = c.look()
	}
	return d.boot.Add(monotonic)
}

// lookTries bounds the duration of look where a system call takes longer than slack, for example
// under a tracer. The distance is then too short, by the duration of the fastest reading.
const lookTries = 10

// look reads the clocks in this order: wall, monotonic, boot, monotonic. If the machine is
// suspended between two of these readings, the next call of read looks again, because the wall
// clock was read before the suspend. The distance of boot does not shrink, so time does not go
// back.
func (c *bootClock) look() *distances {
	c.mu.Lock()
	defer c.mu.Unlock()
	var best distances
	least := time.Duration(math.MaxInt64)
	for try := 0; try < lookTries && least > slack; try++ {
		wall, before := c.clocks()
		boot := c.boottime()
		_, after := c.clocks()
		if took := after - before; took < least {
			best, least = distances{wall: wall - before, boot: boot.Add(-after)}, took
		}
	}
	if old := c.known.Load(); old != nil {
		best.boot = max(best.boot, old.boot)
	}
	c.known.Store(&best)
	return &best
}
