package check

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

func TestBadHistoriesOfWaitersThatAreCalled(t *testing.T) {
	t.Parallel()
	refuseAllBy(t, Starvation, []toldHistory{
		{"a waiter gets nothing until its patience ends", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.waits("c1")
		}, "p: c0 unlocked it at 6.01s, c1 had waited for it since 5.6s, and nobody got it by 7.76s; a quorum was unhurt"},
		{"a waiter is canceled after a long time", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.fails("c1", "p", true, 5600, 7761, history.ErrCanceled)
		}, "nobody got it by 7.76s"},
		{"a waiter gets it late", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.holds("c1", "p", 23, 5600, 7761, 8200).leaves(8000, 8010, 0)
		}, "nobody got it by 7.76s"},
		{"a waiter whose ttl is long gets it late", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.fails("c1", "p", true, 5600, 8761, history.ErrTooSlow, 12_000*ms)
		}, "nobody got it by 8.76s"},
		{"a waiter of the same client gets nothing", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.waits("c0")
		}, "c0 had waited for it since 5.6s"},
		{"the last of two readers leaves, and a writer gets nothing", func(s *story) {
			s.readsIt("c0", "p", 20, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.readsIt("c2", "p", 20, 5000, 5010, 6300).leaves(5900, 5910, 0)
			s.waits("c1")
		}, "p: c0 unlocked it at 6.01s, c1 had waited for it since 5.6s"},
		{"a writer leaves, and a reader gets nothing", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.waits("c1")
			s.events[len(s.events)-2].Reads = true
		}, "c1 had waited for it since 5.6s"},
		{"a set leaves, and a waiter gets nothing", func(s *story) {
			h := s.holds("c0", "p", 22, 5000, 5010, 6400)
			s.together(5000, h)
			h.leaves(6000, 6010, 0)
			s.waits("c1")
		}, "c1 had waited for it since 5.6s"},
		{"a waiter gets nothing beside faults of a minority", func(s *story) {
			s.fault(4800, 9900, "freeze(m1+m3,5s)")
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.waits("c1")
		}, "c1 had waited for it since 5.6s"},
		{"a waiter gets nothing, and late copies may stand on a minority of masters", func(s *story) {
			s.fault(4700, 4720, "late-copy(*,m0+m1,200ms,1,20ms)")
			s.lasts("c2", "p", 21, 4700, 4710, 5110).leaves(4800, 4810, 0)
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.waits("c1")
		}, "c1 had waited for it since 5.6s"},
		{"other waiters give up, and others try in vain", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.fails("c2", "p", true, 5500, 6020, history.ErrHeld)
			s.fails("c2", "p", false, 6100, 6110, history.ErrHeld)
			s.waits("c1")
		}, "c1 had waited for it since 5.6s"},
		{"a client is cut off that asks for another name", func(s *story) {
			s.fault(4800, 9900, "partition(c2,m0+m1+m2,both,5s)")
			s.fails("c2", "q", true, 5600, 9500, history.ErrTooSlow)
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.waits("c1")
		}, "c1 had waited for it since 5.6s"},
		{"a client is cut off that asks later", func(s *story) {
			s.fault(4800, 9900, "partition(c2,m0+m1+m2,both,5s)")
			s.fails("c2", "p", true, 7800, 9500, history.ErrTooSlow)
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.waits("c1")
		}, "c1 had waited for it since 5.6s"},
		{"a client is cut off that asked long before", func(s *story) {
			s.fault(5300, 9900, "partition(c2,m0+m1+m2,both,5s)")
			s.fails("c2", "p", true, 4500, 4600, history.ErrTooSlow)
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.waits("c1")
		}, "c1 had waited for it since 5.6s"},
		{"a holder before it died long ago", func(s *story) {
			s.lasts("c2", "p", 21, 4000, 4010, 4400)
			s.client(4100, history.ClientKilled, "c2")
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.waits("c1")
		}, "c1 had waited for it since 5.6s"},
	})
}

// waits is a wait for p from 5.6 s on, which is just long enough before the unlock, in vain.
func (s *story) waits(client string) { s.fails(client, "p", true, 5600, 9500, history.ErrTooSlow) }

func TestHistoriesOfWaitersThatPass(t *testing.T) {
	t.Parallel()
	// vain is a hold, and a wait for its name that is in vain.
	vain := func(s *story) {
		s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
		s.waits("c1")
	}
	passAll(t, []goodHistory{
		{"a waiter gets it in time", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.holds("c1", "p", 23, 5600, 7760, 8200).leaves(8000, 8010, 0)
		}},
		{"a waiter whose ttl is long gets it in time", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.holds("c1", "p", 23, 5600, 8760, 9200).leaves(9000, 9010, 0)
			s.events[len(s.events)-4].TTL = 12_000 * ms
		}},
		{"another waiter gets it", func(s *story) {
			vain(s)
			s.holds("c2", "p", 23, 5900, 7760, 9900).leaves(9800, 9810, 0)
		}},
		{"somebody who tries gets it before the unlock has ended", func(s *story) {
			vain(s)
			s.tries("c2", "p", 23, 6002, 6005, 9900).leaves(9800, 9810, 0)
		}},
		{"a waiter may not stand in line yet", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.fails("c1", "p", true, 5601, 9500, history.ErrTooSlow)
		}},
		{"a waiter has no patience", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.fails("c1", "p", true, 5600, 7760, history.ErrTooSlow)
		}},
		{"nobody waits", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.fails("c1", "p", false, 5600, 5610, history.ErrHeld)
		}},
		{"an unlock does not succeed", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6005).leavesWith(6000, 6010, 0, history.ErrNoQuorum)
			s.waits("c1")
		}},
		{"a holder dies", func(s *story) {
			s.holds("c3", "p", 22, 5000, 5010, 6400)
			s.client(6000, history.ClientKilled, "c3")
			s.waits("c1")
		}},
		{"another reader has it yet", func(s *story) {
			s.readsIt("c0", "p", 20, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.readsIt("c2", "p", 20, 5000, 5010, 9900).leaves(9800, 9810, 0)
			s.waits("c1")
		}},
		{"another reader died", func(s *story) {
			s.readsIt("c0", "p", 20, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.readsIt("c3", "p", 20, 5000, 5010, 9900)
			s.client(5500, history.ClientKilled, "c3")
			s.waits("c1")
		}},
		{"a holder before it died, and its lease may have been longer than it knew", func(s *story) {
			s.lasts("c3", "p", 21, 4395, 4400, 4800)
			s.client(4500, history.ClientKilled, "c3")
			vain(s)
		}},
		{"an unlock before it failed", func(s *story) {
			s.lasts("c2", "p", 21, 4500, 4510, 4905).leavesWith(4906, 4910, 0, history.ErrExpired)
			vain(s)
		}},
		{"somebody died who had asked in vain", func(s *story) {
			s.fails("c3", "p", true, 4800, 4850, history.ErrTooSlow, 400*ms)
			s.client(4900, history.ClientKilled, "c3")
			vain(s)
		}},
		{"an operator takes it", func(s *story) {
			vain(s)
			s.forces("p", 22, 0, 6100, 6110, history.ErrHeld)
		}},
		{"a set may have it while it waits for another name", func(s *story) {
			vain(s)
			s.failsTogether("c2", []string{"p", "q"}, true, 5900, 7000, history.ErrTooSlow)
		}},
		{"a set waits, and may have been waiting for another name", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
			s.failsTogether("c1", []string{"p", "q"}, true, 5600, 9500, history.ErrTooSlow)
		}},
		{"a majority is hurt", func(s *story) {
			vain(s)
			s.fault(6005, 6900, "freeze(m0+m1+m2,895ms)")
		}},
		{"two clients lack other masters", func(s *story) {
			s.fault(4000, 9900, "partition(c1,m0+m1,both,5900ms)")
			s.fault(4001, 9900, "partition(c2,m2,both,5899ms)")
			vain(s)
			s.fails("c2", "p", true, 5600, 9500, history.ErrTooSlow)
		}},
		{"a late copy may stand on a majority of masters", func(s *story) {
			s.fault(4700, 4720, "late-copy(*,m0+m1+m2,200ms,1,20ms)")
			s.lasts("c2", "p", 21, 4700, 4710, 5110).leaves(4800, 4810, 0)
			vain(s)
		}},
		{"a late copy comes very late", func(s *story) {
			s.fault(3990, 4015, "late-copy(*,m0+m1+m2,900ms,1,25ms)")
			s.lasts("c2", "p", 21, 3995, 4010, 4395).leaves(4100, 4110, 0)
			vain(s)
		}},
		{"a hold before it may have been left on a majority of masters", func(s *story) {
			s.fault(4700, 4810, "partition(c2,m0+m1+m2,both,110ms)")
			s.lasts("c2", "p", 21, 4600, 4610, 5000).leaves(4800, 4810, 0)
			vain(s)
		}},
		{"two clients name other masters", func(s *story) {
			s.add(1, history.Event{Kind: history.ClientStarts, Client: "c1", Masters: "m0+m1+m2"})
			s.add(1, history.Event{Kind: history.ClientStarts, Client: "c2", Masters: "m2+m3+m4"})
			vain(s)
			s.fails("c2", "p", true, 5600, 9500, history.ErrTooSlow)
		}},
		{"a re-entry waits when the holder leaves", func(s *story) {
			h := s.holds("c0", "p", 22, 5000, 5010, 6400)
			h.upgrades(0, 5600, 9500, history.ErrCanceled)
			h.leaves(6000, 6010, 0)
		}},
		{"another waiter is stopped", func(s *story) {
			vain(s)
			s.fails("c2", "p", true, 5600, 9500, history.ErrTooSlow)
			s.client(5990, history.ClientStopped, "c2")
			s.client(6500, history.ClientGoesOn, "c2")
		}},
		{"the machine is busy", func(s *story) {
			vain(s)
			s.reads("c2", guardedStore, "p", 0, 0, 6100, 6121, "")
		}},
		{"faults out of the model begin", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 8700).leaves(8300, 8310, 0)
			s.fails("c1", "p", true, 7000, 11_500, history.ErrTooSlow)
		}},
	})
}

// A waiter that asked beside faults stands in line when it has asked once more.
func TestWaitersThatAskedLongAgo(t *testing.T) {
	t.Parallel()
	b := testBounds
	b.Patience = time.Minute
	for healed, judged := range map[time.Duration]int{21_899: 1, 21_900: 0} {
		s := &story{}
		s.phase(0, history.InModel)
		s.members(0, "m0+m1+m2")
		s.fault(20_500, healed, "freeze(m0+m1,1s)")
		s.holds("c0", "p", 22, 22_250, 22_260, 43_400).leaves(43_000, 43_010, 0)
		s.fails("c1", "p", true, 21_000, 47_000, history.ErrTooSlow)
		s.client(60_000, history.ClientStarts, "c3")
		v := All(s.sorted(), b)
		if v.Called != judged || len(v.Violations) != judged {
			t.Errorf("faults until %d ms: %d judged, %q", healed, v.Called, v.Violations)
		}
	}
}

// No beginning of a history of a waiter is judged before the name may take no longer.
func TestWaitersAreNotJudgedTooSoon(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.phase(0, history.InModel)
	s.members(0, "m0+m1+m2")
	s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
	s.holds("c1", "p", 23, 5600, 7760, 8200).leaves(8000, 8010, 0)
	beginningsPass(t, s.sorted())
}

// An unlock counts as judged whether a waiter gets the name or not.
func TestUnlocksWithWaitersAreCounted(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.phase(0, history.InModel)
	s.members(0, "m0+m1+m2")
	s.holds("c0", "p", 22, 5000, 5010, 6400).leaves(6000, 6010, 0)
	s.holds("c1", "p", 23, 5600, 6020, 8200).leaves(8000, 8010, 0)
	s.fails("c2", "p", true, 7500, 11_000, history.ErrTooSlow)
	s.holds("c0", "p", 24, 12_000, 12_010, 12_400).leaves(12_020, 12_030, 0) // nobody waits
	s.client(15_000, history.ClientStarts, "c3")
	v := All(s.sorted(), testBounds)
	v.Add(v)
	if v.Called != 4 {
		t.Errorf("%d unlocks were judged, want 2, twice", v.Called)
	}
}
