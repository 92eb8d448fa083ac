package lease

import (
	"sync"
	"time"
)

// suspendCheck detects that the machine was suspended. Go's timers do not count suspended time, so
// the timers of the holds would fire late. Where the clock does not count suspended time either
// (clock_other.go), the check never finds anything.
type suspendCheck struct {
	born time.Time

	mu    sync.Mutex
	timer *time.Timer // nil while nothing is held
	ahead time.Duration
	ended bool
}

// start starts the check, which runs until there are no holds.
func (s *suspendCheck) start(holds *Holds) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil && !s.ended {
		s.ahead = s.aheadOf(holds)
		s.timer = time.AfterFunc(SuspendInterval, func() { s.check(holds) })
	}
}

// check compares the clocks. It visits the holds only if the machine was suspended.
func (s *suspendCheck) check(holds *Holds) {
	s.mu.Lock()
	if s.ended || holds.none() {
		s.timer = nil
		s.mu.Unlock()
		return
	}
	before := s.ahead
	s.ahead = s.aheadOf(holds)
	slept := s.ahead - before
	s.timer.Reset(SuspendInterval)
	s.mu.Unlock()
	if slept > time.Millisecond {
		for _, h := range holds.All() {
			h.tick()
		}
	}
}

func (s *suspendCheck) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

// aheadOf returns how far the clock of the holds is ahead of the clock of Go's timers, counted from born.
func (s *suspendCheck) aheadOf(holds *Holds) time.Duration {
	return time.Duration(holds.Now()) - time.Since(s.born)
}
