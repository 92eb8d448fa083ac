package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// bootClock reads CLOCK_BOOTTIME, which is CLOCK_MONOTONIC plus the time for which the machine was
// suspended. Go reads CLOCK_MONOTONIC and the wall clock without a system call. For CLOCK_BOOTTIME a
// system call is necessary, which takes some twenty times as long: 1.5 µs with a kernel that is guarded
// against Meltdown. An acquisition and its release read the clock some sixteen times.
//
// So bootClock stores how far CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC. It measures this distance
// again when the machine may have been suspended. The wall clock shows a suspend: in one step, the
// kernel adds the suspended time to the wall clock and to CLOCK_BOOTTIME, but not to CLOCK_MONOTONIC
// (__timekeeping_inject_sleeptime in Linux's kernel/time/timekeeping.c). The distance of the wall clock
// also changes when somebody sets this clock. That costs one needless measurement. (NTP's slewing
// changes the rate of all three clocks alike.) bootClock would miss a suspend only if somebody set the
// wall clock back by the suspended time before the next reading.
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

// slack is how much the distance of two clocks may differ between two measurements, because the clocks
// cannot be read at the same moment. No suspend is so short. The drift allowance of a lease (driftBase)
// is twenty times as long.
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

// lookTries is the highest number of tries in look. It is reached where a system call takes longer than
// slack, for example under a tracer. Then the distance is too short by up to the time of the fastest try.
const lookTries = 10

// look measures the distances. It reads the clocks in this order: wall, monotonic, boot, monotonic. If
// the machine is suspended between two of these readings, the next call of read looks again, because the
// wall clock was read before the suspend. The distance of boot never shrinks, so the time that read()
// returns does not go back.
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
