package check

import (
	"testing"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// The loss of a renewed hold, beside what is slow for a reason of its own.
func TestBadHistoriesOfSlowness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell func(s *story)
	}{
		{"an access of a client that is stopped", func(s *story) {
			s.client(5205, history.ClientStopped, "c1")
			s.client(5225, history.ClientGoesOn, "c1")
			s.reads("c1", history.Unguarded, "d", 0, 0, 5200, 5230, "")
		}},
		{"a try of a client that is stopped", func(s *story) {
			s.client(5205, history.ClientStopped, "c1")
			s.client(5225, history.ClientGoesOn, "c1")
			s.fails("c1", "d", false, 5200, 5230, history.ErrHeld)
		}},
		{"a wait", func(s *story) { s.holds("c1", "d", 22, 5200, 5300, 5600).leaves(5310, 5320, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, lostBeside(c.tell), Lost, "unhurt since 4.96s")
		})
	}
}

// The same beside what the machine made slow.
func TestHistoriesOfSlownessThatPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell func(s *story)
	}{
		{"an access, while a master is frozen", func(s *story) {
			s.fault(4900, 5800, "freeze(m1+m3,900ms)")
			s.reads("c1", history.Unguarded, "d", 0, 0, 5200, 5230, "")
		}},
		{"a try, soon after a master forgot all", func(s *story) {
			s.fault(5150, 5160, "flushall(m1)")
			s.fails("c1", "d", false, 5200, 5230, history.ErrHeld)
		}},
		{"a re-entry", func(s *story) {
			h := s.lasts("c1", "d", 22, 5100, 5110, 5500)
			h.reenters(5200, 5230, 5500, 2).leaves(5240, 5250, 1)
			h.leaves(5260, 5270, 0)
		}},
		{"an unlock", func(s *story) { s.lasts("c1", "d", 22, 5100, 5110, 5500).leaves(5200, 5230, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustPass(t, lostBeside(c.tell))
		})
	}
}
