package check

import (
	"testing"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// What must not befall a hold that has a quorum which no fault hurts.
func TestBadHistoriesOfHealthyHolds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell func(s *story)
		rule string
		says string
	}{
		{"a hold that nobody renews is told to be over before its lease ends", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5410)
			h.told(5300)
			h.leaves(5310, 5320, 0)
		}, Lost, "b: the lease of c0 with token 22 ended at 5.41s, and its holder was told that it is over at 5.3s already; a quorum was there for it and unhurt since 4.95s"},
		{"an unlock finds a hold that nobody renews lost before its lease ends", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5410).leavesWith(5300, 5310, 0, history.ErrLost)
		}, Lost, "its unlock found it lost at 5.3s already"},
		{"a hold that nobody renews is told to be over beside faults of a minority", func(s *story) {
			s.fault(4900, 5800, "freeze(m1+m3,900ms)")
			h := s.holds("c0", "b", 22, 5000, 5010, 5410)
			h.told(5300)
			h.leaves(5310, 5320, 0)
		}, Lost, "its holder was told that it is over at 5.3s already"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, c.tell, c.rule, c.says)
		})
	}
}

func TestHistoriesOfHoldsThatPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell func(s *story)
	}{
		{"a hold that nobody renews is told to be over at the end of its lease", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5410)
			h.told(5409)
			h.leaves(5410, 5420, 0)
		}},
		{"a hold that nobody renews is lost with masters that lost their data when it was had", func(s *story) {
			s.fault(4960, 5000, "flushall(m0+m1+m2)")
			h := s.holds("c0", "b", 22, 5000, 5010, 8000)
			h.told(7800)
			h.leaves(7810, 7820, 0)
		}},
		{"an operator takes a hold that nobody renews", func(s *story) {
			h := s.lasts("c0", "b", 22, 5000, 5010, 5410)
			s.forces("b", 22, 23, 5200, 5210, "", h)
			h.told(5300)
			h.leaves(5310, 5320, 0)
		}},
		{"one of a set is lost to what a rival left of another name", func(s *story) {
			s.fault(4900, 5800, "freeze(m1+m3,900ms)")
			s.fault(4915, 5800, "partition(c1,m4,both,900ms)")
			s.fails("c1", "p", false, 4970, 4975, history.ErrHeld)
			first := s.renews("c0", "b", 22, 5000, 5010, 5410)
			other := s.renews("c0", "p", 22, 5000, 5010, 5410)
			s.together(5000, first)
			for _, h := range []heldLock{first, other} {
				h.told(5400)
				h.leaves(5405, 5415, 0)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustPass(t, c.tell)
		})
	}
}
