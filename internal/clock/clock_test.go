package clock

import (
	"testing"
	"time"
)

func TestClockIsMonotonic(t *testing.T) {
	before := Read()
	for range 1000 {
		now := Read()
		if now.Before(before) {
			t.Fatalf("%d after %d", now, before)
		}
		before = now
	}
}

func TestInstantCompare(t *testing.T) {
	const s = Instant(time.Second)
	for _, c := range []struct {
		t, u          Instant
		before, after bool
		sub           time.Duration
	}{
		{2 * s, 3 * s, true, false, -time.Second},
		{3 * s, 3 * s, false, false, 0}, // a lease is over at the very moment at which it ends
		{3 * s, 2 * s, false, true, time.Second},
	} {
		if c.t.Before(c.u) != c.before || c.t.After(c.u) != c.after {
			t.Errorf("%d and %d: before %t, after %t; want %t, %t", c.t, c.u, c.t.Before(c.u), c.t.After(c.u), c.before, c.after)
		}
		if c.t.Sub(c.u) != c.sub || c.u.Add(c.sub) != c.t {
			t.Errorf("%d is %v after %d, want %v; and so much after that is %d", c.t, c.t.Sub(c.u), c.u, c.sub, c.u.Add(c.sub))
		}
	}
}
