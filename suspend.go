package redlock

import (
	"sync"
	"time"
)

// suspendCheck notices that the machine was suspended. Go's timers count no
// suspended time, so those of the holds would fire late by as much. Where the
// clock counts none either (clock_other.go), it never finds anything.
type suspendCheck struct {
	mu    sync.Mutex
	timer *time.Timer // nil while nothing is held
	ahead time.Duration
	ended bool
}

// start makes the check run until nothing is held any more.
func (s *suspendCheck) start(c *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil && !s.ended {
		s.ahead = c.ahead()
		s.timer = time.AfterFunc(suspendInterval, func() { s.check(c) })
	}
}

func (s *suspendCheck) check(c *Client) {
	s.mu.Lock()
	holds := c.holds.all()
	if s.ended || len(holds) == 0 {
		s.timer = nil
		s.mu.Unlock()
		return
	}
	before := s.ahead
	s.ahead = c.ahead()
	slept := s.ahead - before
	s.timer.Reset(suspendInterval)
	s.mu.Unlock()
	if slept > time.Millisecond {
		for _, h := range holds {
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

// ahead is how much further the clock has run than Go's timers.
func (c *Client) ahead() time.Duration { return time.Duration(c.now()) - time.Since(c.born) }
