package check

import (
	"testing"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

func TestBadHistoriesOfCallersAlone(t *testing.T) {
	t.Parallel()
	refuseAllBy(t, Leftover, []toldHistory{
		{"a waiter alone gets nothing until its patience ends", func(s *story) {
			s.fails("c0", "p", true, 5500, 9800, history.ErrNoQuorum)
		}, "c0 asked at 5.5s for [p], and waited for longer than 500ms; nobody had asked for that or had it since 5.1s, and a quorum was unhurt"},
		{"a waiter alone is canceled after a long time", func(s *story) {
			s.fails("c0", "p", true, 5500, 6001, history.ErrCanceled)
		}, "c0 asked at 5.5s for [p], and waited for longer than 500ms"},
		{"a waiter alone gets the lock late", func(s *story) {
			s.holds("c0", "p", 22, 5500, 6001, 6400).leaves(6100, 6110, 0)
		}, "c0 asked at 5.5s for [p], and waited for longer than 500ms"},
		{"a waiter alone gets nothing after another has left, beside faults", func(s *story) {
			s.fault(4800, 9900, "freeze(m1+m3,5s)")
			s.lasts("c1", "p", 22, 5000, 5010, 5400).leaves(5050, 5060, 0)
			s.fails("c0", "p", true, 5500, 9800, history.ErrTooSlow)
		}, "c0 asked at 5.5s for [p], and waited for longer than 500ms"},
		{"a reader waits in vain beside a reader", func(s *story) {
			s.readsIt("c1", "p", 20, 5000, 5010, 9900).leaves(9850, 9860, 0)
			s.fails("c0", "p", true, 5500, 9800, history.ErrNoQuorum)
			s.events[len(s.events)-2].Reads = true
		}, "c0 asked at 5.5s for [p], and waited for longer than 500ms"},
		{"a try for a set that nobody uses is refused", func(s *story) {
			s.failsTogether("c0", []string{"q", "p"}, false, 5500, 5510, history.ErrHeld)
		}, "c0 tried at 5.5s to get [p q] and was told: held; nobody had asked for that or had it since 5.1s, and a quorum was unhurt"},
		{"a try for a set that nobody uses finds no quorum", func(s *story) {
			s.fault(4800, 9900, "freeze(m1+m3,5s)")
			s.failsTogether("c0", []string{"q", "p"}, false, 5500, 5510, history.ErrNoQuorum)
		}, "c0 tried at 5.5s to get [p q] and was told: no quorum"},
		{"a set that nobody uses is waited for in vain", func(s *story) {
			s.failsTogether("c0", []string{"q", "p"}, true, 5500, 9800, history.ErrNoQuorum)
		}, "c0 asked at 5.5s for [p q], and waited for longer than 500ms"},
	})
}

func TestHistoriesOfCallersAloneThatPass(t *testing.T) {
	t.Parallel()
	passAll(t, []goodHistory{
		{"a waiter has no patience", func(s *story) { s.fails("c0", "p", true, 5500, 5999, history.ErrTooSlow) }},
		{"a waiter alone gets the lock in time", func(s *story) {
			s.holds("c0", "p", 22, 5500, 6000, 6400).leaves(6100, 6110, 0)
		}},
		{"a waiter gets nothing after another has just left", func(s *story) {
			s.lasts("c1", "p", 22, 5000, 5010, 5400).leaves(5110, 5120, 0)
			s.fails("c0", "p", true, 5500, 9800, history.ErrTooSlow)
		}},
		{"a waiter gets nothing when another asks", func(s *story) {
			s.fails("c1", "p", false, 5990, 5995, history.ErrHeld)
			s.fails("c0", "p", true, 5500, 9800, history.ErrTooSlow)
		}},
		{"a waiter gets nothing for a fault of a majority", func(s *story) {
			s.fault(5900, 9900, "freeze(m1+m2+m3,4s)")
			s.fails("c0", "p", true, 5500, 9800, history.ErrTooSlow)
		}},
		{"a writer waits in vain beside a reader", func(s *story) {
			s.readsIt("c1", "p", 20, 5000, 5010, 9900).leaves(9850, 9860, 0)
			s.fails("c0", "p", true, 5500, 9800, history.ErrNoQuorum)
		}},
		{"a try for a set that nobody uses is canceled", func(s *story) {
			s.failsTogether("c0", []string{"q", "p"}, false, 5500, 5510, history.ErrCanceled)
		}},
		{"a try for a set is refused for one of its names", func(s *story) {
			s.lasts("c1", "q", 22, 5300, 5310, 5700).leaves(5600, 5610, 0)
			s.failsTogether("c0", []string{"q", "p"}, false, 5500, 5510, history.ErrHeld)
		}},
		{"a try for a set is refused for what was left of each of its names on another master", func(s *story) {
			s.fault(4950, 5040, "partition(c1,m1+m2,both,90ms)")
			s.lasts("c1", "p", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fault(4951, 5040, "partition(c2,m3,both,90ms)")
			s.lasts("c2", "q", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.failsTogether("c0", []string{"q", "p"}, false, 5500, 5510, history.ErrHeld)
		}},
	})
}

// A call counts as judged if nothing would have excused that it gets nothing.
func TestCallersAloneAreCounted(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.phase(0, history.InModel)
	s.members(0, "m0+m1+m2")
	s.holds("c0", "p", 22, 5000, 5010, 6000).leaves(5120, 5130, 0)
	s.holds("c1", "p", 23, 5510, 5520, 6000).leaves(5530, 5540, 0) // soon after another
	s.failsTogether("c0", []string{"q", "r"}, false, 6000, 6010, history.ErrNoQuorum)
	s.tries("c0", "p", 24, 6000, 6010, 6500).leaves(6020, 6030, 0) // by one that would not have waited
	s.client(9000, history.ClientStarts, "c3")
	v := All(s.sorted(), testBounds)
	v.Add(v)
	if v.Alone != 4 {
		t.Errorf("%d calls were judged, want 2, twice", v.Alone)
	}
}
