package check

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// failsTogether is a wait for several names together that ends with the same error for all.
func (s *story) failsTogether(client string, names []string, waits bool, from, to time.Duration, err string) {
	first := s.calls + 1
	for _, name := range names {
		s.fails(client, name, waits, from, to, err)
		begin := &s.events[len(s.events)-2]
		begin.Set, begin.Of = len(names), first
	}
}

// triesBeside is a try for p and q together that is in vain, and one for q beside it.
func (s *story) triesBeside() {
	s.failsTogether("c1", []string{"q", "p"}, false, 5500, 5510, history.ErrHeld)
	s.fails("c2", "q", false, 5505, 5515, history.ErrHeld)
}

func TestBadHistoriesOfSets(t *testing.T) {
	t.Parallel()
	refuseAll(t, []badHistory{
		{"a set starves", func(s *story) {
			s.failsTogether("c2", []string{"b", "p"}, true, 21_000, 31_100, history.ErrHeld)
		}, Starvation, "c2 waited for it from 21s to 31.1s, and was told at last that others hold it"},
		{"a set hangs", func(s *story) {
			s.failsTogether("c2", []string{"b", "p"}, true, 21_000, 40_000, history.ErrNoQuorum)
		}, Starvation, "the call of c2 at 21s hangs"},
		{"a name stays locked after a set gave up", func(s *story) {
			s.fails("c1", "b", false, 20_500, 20_510, history.ErrHeld)
			s.failsTogether("c2", []string{"b", "p"}, true, 21_000, 22_900, history.ErrHeld)
			s.fails("c1", "b", false, 23_000, 23_010, history.ErrHeld)
		}, Recovery, "b: all faults ended at 20s, it was asked for at 20.5s, and nobody could lock it within 2s"},
		{"a set that cannot be had keeps one of its names from others", func(s *story) {
			s.holds("c0", "p", 22, 4000, 4010, 6000).leaves(5800, 5810, 0)
			s.triesBeside()
		}, Leftover, "q: c2 was told at 5.515s that it is held; nobody had it or asked for it since 5.105s, and there was no fault"},
		{"a rival gets one of the names of a set", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5300, 5310, 0)
			s.holds("c0", "p", 22, 5000, 5010, 5400).leaves(5300, 5310, 0)
			for i := range s.events {
				if e := &s.events[i]; e.At == 5000*ms {
					e.Set = 2
				}
			}
			s.holds("c1", "p", 24, 5100, 5110, 5500).leaves(5200, 5210, 0)
		}, Exclusion, "p: c0 held it with token 22 until 5.3s"},
	})
}

func TestHistoriesOfSetsThatPass(t *testing.T) {
	t.Parallel()
	passAll(t, []goodHistory{
		{"a set waits for as long as for each of its names", func(s *story) {
			s.failsTogether("c2", []string{"b", "p"}, true, 21_000, 30_900, history.ErrHeld)
		}},
		{"a set waits in vain, and others get one of its names", func(s *story) {
			s.failsTogether("c2", []string{"b", "p"}, true, 21_000, 31_100, history.ErrNoQuorum)
			s.holds("c0", "b", 42, 25_000, 25_010, 25_400).leaves(25_020, 25_030, 0)
		}},
		{"a set waits after all was healed, and gets none", func(s *story) {
			s.failsTogether("c2", []string{"d", "p"}, true, 21_000, 30_900, history.ErrHeld)
		}},
		{"a set has one of its names while it waits for another", func(s *story) {
			s.holds("c0", "p", 42, 20_050, 20_060, 27_000).leaves(25_800, 25_810, 0)
			s.fails("c1", "b", false, 20_500, 20_510, history.ErrHeld)
			s.failsTogether("c2", []string{"b", "p"}, true, 21_000, 26_000, history.ErrHeld)
			s.fails("c1", "b", false, 23_000, 23_010, history.ErrHeld)
		}},
		{"a set is refused for another of its names", func(s *story) {
			s.holds("c0", "p", 22, 4000, 4010, 6000).leaves(5800, 5810, 0)
			s.failsTogether("c1", []string{"b", "p"}, false, 5500, 5510, history.ErrHeld)
		}},
		{"a set is had but for a name that somebody has just had", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6000).leaves(5800, 5810, 0)
			s.failsTogether("c1", []string{"q", "p"}, false, 5400, 5410, history.ErrHeld)
			s.fails("c2", "q", false, 5405, 5415, history.ErrHeld)
		}},
		{"a set is had but for a name that was given back", func(s *story) {
			s.holds("c0", "p", 22, 4000, 4010, 6000).leaves(5505, 5515, 0)
			s.triesBeside()
		}},
		{"a set is had but for a name of its own client", func(s *story) {
			s.holds("c1", "p", 22, 4000, 4010, 6000).leaves(5800, 5810, 0)
			s.triesBeside()
		}},
		{"a set is had but for a name that a fault may have taken", func(s *story) {
			s.fault(4100, 4200, "clock(m1,5s,100ms)")
			s.holds("c0", "p", 22, 4000, 4010, 6000).leaves(5800, 5810, 0)
			s.triesBeside()
		}},
		{"a set that waits has one of its names while it waits for the other", func(s *story) {
			s.holds("c0", "p", 22, 4000, 4010, 6000).leaves(5800, 5810, 0)
			s.failsTogether("c1", []string{"q", "p"}, true, 5500, 5600, history.ErrTooSlow)
			s.fails("c2", "q", false, 5505, 5515, history.ErrHeld)
		}},
		{"a reader comes while a set waits for another name", func(s *story) {
			s.readsIt("c0", "b", 20, 4900, 5000, 6000).leaves(5700, 5710, 0)
			s.readsIt("c1", "b", 20, 5450, 5460, 5900).leaves(5500, 5510, 0)
			s.failsTogether("c2", []string{"b", "p"}, true, 5010, 5720, history.ErrHeld)
		}},
		{"a set asks for the lock of one that died, and is refused for another name", func(s *story) {
			s.holds("c3", "b", 22, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.lasts("c1", "p", 22, 6400, 6410, 6800).leaves(6600, 6610, 0)
			s.failsTogether("c0", []string{"b", "p"}, false, 6500, 6510, history.ErrHeld)
			s.holds("c0", "b", 24, 7000, 7010, 7400).leaves(7020, 7030, 0)
		}},
	})
}
