package clock

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// bootClock tells the time of CLOCK_BOOTTIME, which is CLOCK_MONOTONIC and the time for which the
// machine was suspended. Go reads CLOCK_MONOTONIC and the wall clock without a system call, but not
// this one. A system call takes 1.5 µs where the kernel is guarded against Meltdown, some twenty
// times as long, and an acquisition and a release need the time some sixteen times.
//
// So bootClock keeps by how much CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, and looks again when
// the machine may have been suspended. The wall clock tells: the kernel adds the time suspended to
// it and to CLOCK_BOOTTIME in one step (__timekeeping_inject_sleeptime in Linux's
// kernel/time/timekeeping.c), and that moves it away from CLOCK_MONOTONIC. Nothing else does but
// somebody who sets it, which costs one look in vain; NTP's slewing changes the rate of all three
// alike. A suspend would go unseen only if the wall clock was set back by just as much before the
// next reading.
type bootClock struct {
	clocks   func() (wall, monotonic time.Duration)
	boottime func() Instant

	mu    sync.Mutex // held by who looks
	known atomic.Pointer[distances]
}

// distances are those of the clocks from CLOCK_MONOTONIC. They are the same until the machine is
// suspended or the wall clock is set.
type distances struct {
	wall time.Duration
	boot Instant // short by no more than slack
}

// slack is the difference between two readings of the same clocks that is put down to the time that
// reading them takes. No suspend is so short. The drift allowance of a lease (driftBase) is twenty
// times as much.
const slack = 100 * time.Microsecond

// stand reports whether a reading of the clocks shows the same distances.
func (d *distances) stand(wall, monotonic time.Duration) bool {
	return d != nil && (wall-monotonic-d.wall).Abs() <= slack
}

func (c *bootClock) read() Instant {
	wall, monotonic := c.clocks()
	d := c.known.Load()
	if !d.stand(wall, monotonic) {
		d = c.look()
	}
	return d.boot.Add(monotonic)
}

// lookTries bounds the time that look takes where a system call takes longer than slack, as under a
// tracer. The distance is then short by what the fastest took.
const lookTries = 10

// look reads the clocks in this order: wall, monotonic, boot, monotonic. A suspend in between then
// makes the next reading look again, since the wall clock was read before it. The distance of boot
// does not shrink, so time does not go back.
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
