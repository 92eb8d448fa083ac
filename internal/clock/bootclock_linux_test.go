package clock

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// kernel simulates Linux's clocks. Events happen between two readings, and each reading takes time.
type kernel struct {
	wall, monotonic, boot time.Duration
	looks                 int    // number of readings of boot
	next                  func() // what happens before the next reading
}

func (k *kernel) clocks() (wall, monotonic time.Duration) {
	k.next()
	wall = k.wall
	k.next()
	return wall, k.monotonic
}

func (k *kernel) boottime() Instant {
	k.next()
	k.looks++
	return Instant(k.boot)
}

func (k *kernel) run(d time.Duration) {
	k.wall, k.monotonic, k.boot = k.wall+d, k.monotonic+d, k.boot+d
}

func (k *kernel) suspend(d time.Duration) { k.wall, k.boot = k.wall+d, k.boot+d }

func (k *kernel) set(wall time.Duration) { k.wall += wall }

// The clock is right within slack, and monotonic, whatever happens between readings.
func TestBootClockCountsSuspends(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := &kernel{wall: 1 << 60, boot: time.Hour}
		events, long := 0, 0
		k.next = func() {
			events++
			event := rapid.IntRange(0, 3).Draw(t, "event")
			if event == 1 && events-long < 10 { // some comparison of the clocks must be quick
				event = 0
			}
			switch event {
			case 0:
				k.run(time.Duration(rapid.IntRange(0, int(slack/6)).Draw(t, "run")))
			case 1:
				long = events
				k.run(time.Duration(rapid.IntRange(0, int(time.Second)).Draw(t, "run long")))
			case 2:
				k.suspend(time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Hour)).Draw(t, "suspend")))
			case 3:
				// Each change of the wall clock is longer than two suspends. (bootClock does not detect
				// a suspend if the wall clock is set back by exactly the suspended time.)
				k.set(time.Duration(rapid.SampledFrom([]int{-10, 10, 24}).Draw(t, "set")) * time.Hour)
			}
		}
		c := bootClock{clocks: k.clocks, boottime: k.boottime}
		var last Instant
		for range 20 {
			k.next()
			before := Instant(k.boot)
			now := c.read()
			if now < before-Instant(slack) || now > Instant(k.boot) {
				t.Fatalf("the clock is %v behind what it was before the reading, and %v before what it was after", before.Sub(now), Instant(k.boot).Sub(now))
			}
			if now < last {
				t.Fatalf("the clock went back by %v", last.Sub(now))
			}
			last = now
		}
	})
}

func TestBootClockReadsOnlyWhenClocksDiverge(t *testing.T) {
	k := &kernel{wall: 1 << 60, boot: time.Hour, next: func() {}}
	c := bootClock{clocks: k.clocks, boottime: k.boottime}
	for _, step := range []struct {
		what  string
		do    func()
		looks int
	}{
		{"the first reading", func() {}, 1},
		{"a year", func() { k.run(365 * 24 * time.Hour) }, 0},
		{"a suspend", func() { k.suspend(time.Second) }, 1},
		{"nothing", func() {}, 0},
		{"the wall clock is set forward", func() { k.set(time.Second) }, 1},
		{"the wall clock is set back", func() { k.set(-time.Hour) }, 1},
		{"nothing", func() {}, 0},
	} {
		before := k.looks
		step.do()
		if now := c.read(); now != Instant(k.boot) {
			t.Errorf("%s: %d, want %d", step.what, now, k.boot)
		}
		if looks := k.looks - before; looks != step.looks {
			t.Errorf("%s: %d readings of CLOCK_BOOTTIME, want %d", step.what, looks, step.looks)
		}
	}
}

// If system calls take longer than slack, the clock is behind by the time of the fastest of lookTries calls.
func TestBootClockWithSlowSyscalls(t *testing.T) {
	const call = 10 * slack
	k := &kernel{wall: 1 << 60, boot: time.Hour}
	k.next = func() {
		if k.looks%lookTries == 2 || k.looks%lookTries == 3 { // the third system call is faster, but still slow
			k.run(slack)
		} else {
			k.run(call)
		}
	}
	c := bootClock{clocks: k.clocks, boottime: k.boottime}
	var last Instant
	for range 3 {
		looks := k.looks
		asked := Instant(k.boot) + Instant(2*call) // when the first two clocks have been read
		if now := c.read(); now < asked-Instant(2*slack) || now > asked || now < last {
			t.Errorf("%v before it was asked, and %v after the reading before", asked.Sub(now), now.Sub(last))
		} else {
			last = now
		}
		if looks = k.looks - looks; looks > lookTries {
			t.Errorf("%d readings of CLOCK_BOOTTIME, want at most %d", looks, lookTries)
		}
	}
}

func TestReadIsBoottime(t *testing.T) {
	for name, start := range map[string]time.Time{"": time.Now(), "after 2157": time.Now().Round(0)} {
		c := bootClock{clocks: goClocks(start), boottime: Shared}
		for range 1000 {
			before, now, after := Shared(), c.read(), Shared()
			if now < before-Instant(time.Millisecond) || now > after {
				t.Fatalf("%s: %d, want from %d (less a millisecond) to %d", name, now, before, after)
			}
		}
	}
}

// A time after March 2157 has no monotonic reading. The wall clock must not replace it.
func TestWallClockIsNotMonotonic(t *testing.T) {
	if _, monotonic := goClocks(time.Now().Add(-time.Hour).Round(0))(); monotonic != 0 {
		t.Errorf("a monotonic clock of %v, want none", monotonic)
	}
}
