package check

import (
	"testing"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

func TestBadHistoriesOfUnlocks(t *testing.T) {
	t.Parallel()
	refuseAllBy(t, Leftover, []toldHistory{
		{"the next try finds it held", func(s *story) {
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.fails("c1", "p", false, 5031, 5040, history.ErrHeld)
		}, "p: c1 tried to get it at 5.031s and was told: held; c0 had unlocked it at 5.03s"},
		{"the next try finds no quorum", func(s *story) {
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.fails("c1", "p", false, 5031, 5040, history.ErrNoQuorum)
		}, "and was told: no quorum; c0 had unlocked it at 5.03s"},
		{"a try much later finds it held", func(s *story) {
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.fails("c1", "p", false, 5420, 5429, history.ErrHeld)
		}, "c0 had unlocked it at 5.03s"},
		{"two had it in turn", func(s *story) {
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.renews("c1", "p", 23, 5031, 5040, 5440).leaves(5045, 5050, 0)
			s.fails("c0", "p", false, 5060, 5065, history.ErrHeld)
		}, "c1 had unlocked it at 5.05s"},
		{"a reader finds it held by a writer", func(s *story) {
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.triesToRead("c1", "p", 5031, 5040, history.ErrHeld)
		}, "c0 had unlocked it at 5.03s"},
		{"another client is cut off", func(s *story) {
			s.fault(5000, 5900, "partition(c2,m0+m1+m2+m3+m4,both,900ms)")
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.fails("c1", "p", false, 5031, 5040, history.ErrHeld)
		}, "c0 had unlocked it at 5.03s"},
		{"the holder was cut off from a minority, where it may be yet", func(s *story) {
			s.fault(5000, 5900, "partition(c0,m0+m1,both,900ms)")
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.fails("c1", "p", false, 5031, 5040, history.ErrHeld)
		}, "c0 had unlocked it at 5.03s"},
	})
}

func TestHistoriesOfUnlocksThatPass(t *testing.T) {
	t.Parallel()
	next := func(s *story) { s.fails("c1", "p", false, 5031, 5040, history.ErrHeld) }
	passAll(t, []goodHistory{
		{"an unlock does not succeed", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 5025).leavesWith(5020, 5030, 0, history.ErrNoQuorum)
			next(s)
		}},
		{"an unlock has not ended when the try begins", func(s *story) {
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5031, 0)
			next(s)
		}},
		{"somebody else asked in vain", func(s *story) {
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.fails("c2", "p", false, 5015, 5019, history.ErrHeld)
			next(s)
		}},
		{"somebody else gets it", func(s *story) {
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.tries("c2", "p", 23, 5033, 5038, 5410).leaves(5050, 5055, 0)
			next(s)
		}},
		{"a holder before it died", func(s *story) {
			s.holds("c3", "p", 21, 4500, 4510, 4900)
			s.client(4800, history.ClientKilled, "c3")
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			next(s)
		}},
		{"one of the masters may not serve the next one, and may be of the quorum that freed it", func(s *story) {
			s.fault(5000, 5900, "partition(c1,m0,both,900ms)")
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			next(s)
		}},
		{"a late copy of its request was granted", func(s *story) {
			s.fault(4900, 5050, "late-copy(c0,m0+m1+m2,20ms,1,150ms)")
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.fails("c1", "p", false, 5420, 5429, history.ErrHeld)
		}},
		{"an operator has it for a moment", func(s *story) {
			h := s.renews("c0", "p", 22, 5000, 5010, 5410)
			h.leaves(5020, 5030, 0)
			s.forces("p", 22, 0, 5022, 5030, history.ErrHeld, h)
			next(s)
		}},
		{"the next one is canceled", func(s *story) {
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.fails("c1", "p", false, 5031, 5040, history.ErrCanceled)
		}},
		{"the next one gets it", func(s *story) {
			s.renews("c0", "p", 22, 5000, 5010, 5410).leaves(5020, 5030, 0)
			s.tries("c1", "p", 23, 5031, 5040, 5440).leaves(5045, 5050, 0)
		}},
	})
}

// A try counts as judged whether it gets the lock or not.
func TestTriesAfterAnUnlockAreCounted(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.phase(0, history.InModel)
	s.members(0, "m0+m1+m2")
	s.tries("c0", "p", 22, 5000, 5010, 6000).leaves(5020, 5030, 0)
	s.tries("c1", "p", 23, 5031, 5040, 6000).leaves(5050, 5060, 0)
	s.fails("c0", "p", false, 5061, 5070, history.ErrNoQuorum)
	s.tries("c0", "p", 24, 5600, 5610, 6000).leaves(5620, 5630, 0) // long after the others
	v := All(s.sorted(), testBounds)
	v.Add(v)
	if v.Freed != 4 {
		t.Errorf("%d tries were judged, want 2, twice", v.Freed)
	}
}
