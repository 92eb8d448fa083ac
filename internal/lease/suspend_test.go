package lease

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// holdMany returns the holds of a client that has so many, and the clock that they read. No timer
// of them runs.
func holdMany(n int) (*Holds, *atomic.Int64) {
	h, now := holdOf(3), new(atomic.Int64)
	s := h.holds
	s.Now = func() clock.Instant { return clock.Instant(now.Load()) + clock.Instant(time.Since(s.suspend.born)) }
	s.suspend.timer = time.AfterFunc(time.Hour, func() {})
	for i := range n {
		s.add(s.New(s.View(), fmt.Sprint("job ", i), fmt.Sprint("owner ", i), Config{TTL: terms.TTL, Drift: 0.01}, nil, quiet{}).Hold)
	}
	return s, now
}

// The check that runs four times a second does no work for each hold, unless the machine was
// suspended.
func TestTheSuspendCheckVisitsNoHold(t *testing.T) {
	const n = 1000
	s, now := holdMany(n)
	if allocs := testing.AllocsPerRun(10, func() { s.suspend.check(s) }); allocs > 0 {
		t.Errorf("with %d holds it allocates %v times", n, allocs)
	}
	all := s.All()
	for _, h := range all {
		h.cancel = func(error) {}
		h.renewals.timer = time.AfterFunc(time.Hour, func() {})
	}
	now.Add(int64(time.Minute))
	s.suspend.check(s)
	for _, h := range all {
		if h.Over() != ErrExpired {
			t.Fatalf("after a suspension %s is over with %v", h.Name, h.Over())
		}
	}
}
