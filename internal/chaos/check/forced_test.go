package check

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// longTTL makes the hold that was told last one that is renewed by 2 s.
func (s *story) longTTL() {
	begin := &s.events[len(s.events)-2]
	begin.Watched, begin.TTL = true, 2000*ms
}

// together makes a set of the holds that were asked for at a time.
func (s *story) together(asked time.Duration, first heldLock) {
	for i := range s.events {
		if e := &s.events[i]; e.At == asked*ms && e.Kind == history.LockBegins {
			e.Set, e.Of = 2, first.call
		}
	}
}

// goesOn is a hold that is renewed, and told and left at a time.
func (s *story) goesOn(client string, token uint64, asked, held, until, told time.Duration) heldLock {
	h := s.renews(client, "b", token, asked, held, until)
	h.told(told)
	h.leaves(told+5, told+10, 0)
	return h
}

// renewedOn is a hold that is renewed until it is left at a time, and what befalls it.
func (s *story) renewedOn(left time.Duration, tell func(heldLock)) {
	h := s.renews("c0", "b", 22, 5000, 5010, 5400)
	for at := time.Duration(5300); at < left; at += 300 {
		h.renewed(at, at+400)
	}
	tell(h)
	h.leaves(left, left+10, 0)
}

func TestBadHistoriesOfForce(t *testing.T) {
	t.Parallel()
	refuseAll(t, []badHistory{
		{"the token is the holder's", func(s *story) {
			s.forces("b", 22, 22, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5010, 5400, 5200))
		}, Forced, "with token 22, and that of the holder that was shown is 22"},
		{"the token is that of a holder that no quorum named", func(s *story) {
			s.forces("b", 0, 22, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5010, 5400, 5200))
		}, Forced, "with token 22, but c0 knew of 22 at 5.01s already"},
		{"the token is below that of one that was shown, and had the lock later", func(s *story) {
			s.forces("b", 0, 22, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5150, 5400, 5200))
		}, Forced, "with token 22 from c0, who had it with token 22"},
		{"the token is one that a reader was told of", func(s *story) {
			s.readsIt("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.forces("b", 0, 22, 5100, 5110, "")
		}, Forced, "but c0 knew of 22"},
		{"the token is that of an operator before", func(s *story) {
			s.holds("c0", "b", 21, 4900, 4910, 5400).leaves(4920, 4930, 0)
			s.forces("b", 0, 22, 5000, 5010, "")
			s.forces("b", 0, 22, 5100, 5110, "")
		}, Forced, "with token 22, and another one had got 22 at 5.01s already"},
		{"the next one has the same token", func(s *story) {
			s.forces("b", 0, 22, 5100, 5110, "")
			s.holds("c0", "b", 22, 5120, 5130, 5400).leaves(5200, 5210, 0)
		}, Forced, "c0 asked at 5.12s and knows of token 22, but an operator had got 22 at 5.11s already"},
		{"the next one reads, and is told of a lower token", func(s *story) {
			s.forces("b", 0, 22, 5100, 5110, "")
			s.readsIt("c0", "b", 21, 5120, 5130, 5400).leaves(5200, 5210, 0)
		}, Forced, "c0 asked at 5.12s and knows of token 21"},
		{"the token does not grow out of the model", func(s *story) {
			s.forces("a", 0, 32, 11_100, 11_110, "")
		}, Forced, "but c1 knew of 32"},
		{"the old holder renews on", func(s *story) {
			h := s.goesOn("c0", 22, 5000, 5010, 5400, 5500)
			s.forces("b", 22, 23, 5100, 5110, "", h)
			h.renewed(5300, 5511)
		}, Forced, "at 5.11s from c0, who had it with token 22, and whose lease was renewed to 5.511s"},
		{"the old holder renews on, and another has the lock by then", func(s *story) {
			h := s.goesOn("c0", 22, 5000, 5010, 5400, 5500)
			s.forces("b", 22, 0, 5100, 5110, history.ErrHeld, h)
			h.renewed(5300, 5600)
		}, Forced, "whose lease was renewed to 5.6s"},
		{"the old holder, who reads, renews on", func(s *story) {
			h := s.renewsReading("c0", "b", 22, 5000, 5010, 5400)
			s.forces("b", 0, 23, 5100, 5110, "", h)
			h.renewed(5300, 5600)
			h.leaves(5500, 5510, 0)
		}, Forced, "who had it for reading, and whose lease was renewed to 5.6s"},
		{"the old holder is not told", func(s *story) {
			s.forces("b", 22, 23, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5010, 5400, 5611))
		}, Forced, "and was not told until 5.611s; its lease had to be over"},
		{"the old holder reaches a quorum, and is not told soon", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 7000)
			s.longTTL()
			h.told(6344)
			h.leaves(6350, 6360, 0)
			s.forces("b", 22, 23, 5100, 5110, "", h)
		}, Forced, "and was not told until 6.344s; its next renewal reached a quorum"},
		{"one holds that was not shown", func(s *story) {
			shown := s.holds("c1", "b", 21, 4900, 4910, 5300)
			shown.leaves(4950, 4960, 0)
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.forces("b", 0, 23, 5100, 5110, "", shown)
			s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5300, 5310, 0)
			h.leaves(5200, 5210, 0)
		}, Exclusion, "c0 held it with token 22 until 5.2s, and was not told before; c1 held it with token 24 from 5.13s"},
		{"another has the lock before an operator takes it", func(s *story) {
			h := s.goesOn("c0", 22, 5000, 5010, 5400, 5200)
			s.holds("c1", "b", 24, 5020, 5090, 5500).leaves(5300, 5310, 0)
			s.forces("b", 22, 25, 5100, 5110, "", h)
		}, Exclusion, "c1 held it with token 24 from 5.09s"},
		{"one that was shown has the lock beside an older one that was not", func(s *story) {
			old := s.holds("c1", "b", 21, 4900, 4910, 5300)
			h := s.goesOn("c0", 22, 5000, 5150, 5400, 5200)
			s.forces("b", 0, 0, 5100, 5110, history.ErrHeld, h)
			old.leaves(5250, 5260, 0)
		}, Exclusion, "c1 held it with token 21 until 5.25s, and was not told before; c0 held it with token 22 from 5.15s"},
		{"a renewed hold is lost, and an operator took the lock from another", func(s *story) {
			shown := s.holds("c1", "b", 21, 4900, 4910, 5300)
			shown.leaves(4950, 4960, 0)
			s.goesOn("c0", 22, 5000, 5010, 5400, 5200)
			s.forces("b", 0, 23, 5100, 5110, "", shown)
		}, Lost, "the hold of c0 with token 22"},
		{"a renewed hold is lost before an operator takes the lock", func(s *story) {
			s.forces("b", 0, 23, 5210, 5220, "", s.goesOn("c0", 22, 5000, 5010, 5400, 5200))
		}, Lost, "the hold of c0 with token 22"},
		{"a renewed hold is lost, and an operator took the lock of another set", func(s *story) {
			s.goesOn("c0", 22, 5000, 5010, 5400, 5200)
			other := s.renews("c0", "p", 22, 5001, 5010, 5400)
			s.together(5000, heldLock{call: other.call - 1})
			s.together(5001, other)
			other.told(5200)
			other.leaves(5205, 5210, 0)
			s.forces("p", 22, 23, 5100, 5110, "", other)
		}, Lost, "b: the hold of c0 with token 22"},
		{"an operator takes what another has", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5200, 5210, 0)
			s.forces("b", 0, 23, 5100, 5110, "")
		}, Linear, "somebody takes it by force with token 23"},
		{"the old holder enters again", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5400)
			s.forces("b", 22, 23, 5100, 5110, "", h)
			again := h.reenters(5120, 5130, 5400, 2)
			h.told(5200)
			again.leaves(5205, 5210, 1)
			h.leaves(5215, 5220, 0)
		}, Linear, "somebody re-enters with token 22 and depth 2 (from 5.12s to 5.13s) cannot be explained"},
		{"one that was not shown writes late", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.forces("b", 0, 23, 5100, 5110, "")
			s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5300, 5310, 0)
			s.writes("c1", history.Unguarded, "b", 24, 101, 5140, 5150, "")
			s.writes("c0", history.Unguarded, "b", 22, 102, 5160, 5170, "")
			h.leaves(5310, 5320, 0)
		}, Stale, "c0 came at 5.16s with token 22"},
		{"an operator leaves the lock", func(s *story) {
			h := s.renews("c0", "p", 22, 5000, 5010, 5400)
			h.leaves(5035, 5045, 0)
			s.forces("p", 22, 23, 5020, 5030, "", h)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		}, Leftover, "p: c0 was told at 5.51s that it is held"},
		{"the lock of one that died is there long after an operator was at work", func(s *story) {
			s.holds("c3", "b", 22, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.forces("b", 0, 0, 5100, 5110, history.ErrNoQuorum)
			s.fails("c0", "b", false, 6500, 6510, history.ErrHeld)
		}, Outlived, "c3 died at 5.05s"},
		{"the end of what no operator began", func(s *story) {
			s.add(5000, history.Event{Kind: history.ForceEnds, Call: 99, Name: "b"})
		}, BrokenRecord, "no operator takes that lock"},
		{"the call does nothing, and long after another has the lock beside the holder", func(s *story) {
			s.renewedOn(9000, func(h heldLock) { s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h) })
			s.holds("c1", "b", 24, 7990, 8000, 8400).leaves(8300, 8310, 0)
		}, Exclusion, "c0 held it with token 22 until 9s, and was not told before; c1 held it with token 24 from 8s"},
		{"the call does nothing, and no order explains the two holders", func(s *story) {
			s.renewedOn(9000, func(h heldLock) { s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h) })
			s.holds("c1", "b", 24, 7990, 8000, 8400).leaves(8300, 8310, 0)
		}, Linear, "somebody acquires with token 24"},
		{"the call does nothing, and the holder writes after a newer one", func(s *story) {
			s.renewedOn(9000, func(h heldLock) { s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h) })
			s.holds("c1", "b", 24, 7990, 8000, 8400).leaves(8300, 8310, 0)
			s.writes("c1", history.Unguarded, "b", 24, 101, 8010, 8020, "")
			s.writes("c0", history.Unguarded, "b", 22, 102, 8030, 8040, "")
		}, Stale, "c0 came at 8.03s with token 22"},
		{"the call does nothing, and long after the hold is lost in calm", func(s *story) {
			s.renewedOn(8000, func(h heldLock) {
				s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h)
				h.told(7950)
			})
		}, Lost, "the hold of c0 with token 22"},
		{"the call does nothing, and the lease is 1 ms longer than that can explain", func(s *story) {
			h := s.goesOn("c0", 22, 5000, 5010, 6511, 6490)
			s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h)
		}, Lost, "the hold of c0 with token 22"},
		{"another has the lock before the second of two calls, and the first did nothing", func(s *story) {
			s.renewedOn(9000, func(h heldLock) {
				s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h)
				s.forces("b", 22, 26, 8100, 8110, "", h)
			})
			s.holds("c1", "b", 24, 7990, 8000, 8400).leaves(8050, 8060, 0)
		}, Exclusion, "c1 held it with token 24 from 8s"},
	})
}

func TestHistoriesOfForceThatPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell func(s *story)
	}{
		{"the next one has the lock before the old holder is told", func(s *story) {
			s.forces("b", 22, 23, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5010, 5400, 5400))
			s.holds("c1", "b", 24, 5090, 5105, 5500).leaves(5300, 5310, 0)
		}},
		{"the lease had grown until the call ended, and its holder is told at the end", func(s *story) {
			h := s.goesOn("c0", 22, 5000, 5010, 5400, 5510)
			s.forces("b", 22, 23, 5100, 5110, "", h)
			h.renewed(5120, 5510)
		}},
		{"one that was shown has the lock later, beside the next one", func(s *story) {
			s.forces("b", 0, 23, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5150, 5400, 5200))
			s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5300, 5310, 0)
		}},
		{"it is not known what became of the call", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5400)
			s.forces("b", 22, 0, 5100, 5110, history.ErrCanceled, h)
			again := h.reenters(5120, 5130, 5400, 2)
			h.renewed(5200, 5600)
			s.holds("c1", "b", 24, 5290, 5300, 5700).leaves(5400, 5410, 0)
			h.told(5350)
			again.leaves(5355, 5360, 1)
			h.leaves(5365, 5370, 0)
		}},
		{"the call does nothing", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5400)
			s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h)
			h.renewed(5300, 5700)
			h.renewed(5600, 6000)
			h.leaves(5900, 5910, 0)
		}},
		{"an operator who is killed is followed by another", func(s *story) {
			h := s.goesOn("c0", 22, 5000, 5010, 5400, 5400)
			s.forces("b", 22, 0, 5100, 5110, history.ErrCanceled, h)
			s.holds("c1", "b", 23, 5105, 5115, 5500).leaves(5120, 5125, 0)
			s.forces("b", 22, 24, 5130, 5140, "", h)
		}},
		{"the old holder has died", func(s *story) {
			h := s.renews("c3", "b", 22, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.forces("b", 22, 23, 5100, 5110, "", h)
			s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5300, 5310, 0)
		}},
		{"the old holder is stopped", func(s *story) {
			s.client(5050, history.ClientStopped, "c0")
			s.client(5900, history.ClientGoesOn, "c0")
			s.forces("b", 22, 23, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5010, 5400, 5910))
		}},
		{"the old holder does not reach a quorum", func(s *story) {
			s.fault(5050, 7000, "partition(c0,m0+m1+m2,both,1950ms)")
			h := s.renews("c0", "b", 22, 5000, 5010, 7000)
			s.longTTL()
			h.told(7000)
			h.leaves(7010, 7020, 0)
			s.forces("b", 22, 23, 5100, 5110, "", h)
		}},
		{"the old holder reaches a quorum, and is told soon", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 7000)
			s.longTTL()
			h.told(6343)
			h.leaves(6350, 6360, 0)
			s.forces("b", 22, 23, 5100, 5110, "", h)
		}},
		{"the old holder downgrades", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5400)
			s.forces("b", 22, 23, 5100, 5110, "", h)
			s.holds("c1", "b", 24, 5105, 5120, 5500).leaves(5300, 5310, 0)
			h.downgrades(5150, 5160, history.ErrLost)
			h.told(5155)
			h.leaves(5165, 5170, 0)
		}},
		{"readers are taken out", func(s *story) {
			one := s.renewsReading("c0", "b", 22, 5000, 5010, 5400)
			other := s.renewsReading("c1", "b", 22, 5020, 5030, 5400)
			s.forces("b", 0, 24, 5100, 5110, "", one, other)
			s.readsIt("c2", "b", 24, 5115, 5120, 5500).leaves(5125, 5130, 0)
			s.holds("c2", "b", 25, 5140, 5150, 5600).leaves(5300, 5310, 0)
			for _, h := range []heldLock{one, other} {
				h.told(5200)
				h.leaves(5210, 5220, 0)
			}
		}},
		{"a reader is told of the operator's token while the call is under way", func(s *story) {
			s.forces("b", 0, 24, 5100, 5200, "")
			s.readsIt("c2", "b", 24, 5120, 5130, 5600).leaves(5300, 5310, 0)
		}},
		{"the others of a set are lost with it", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5400)
			other := s.renews("c0", "p", 22, 5000, 5010, 5400)
			s.together(5000, h)
			s.forces("b", 22, 23, 5100, 5110, "", h)
			for _, h := range []heldLock{h, other} {
				h.told(5200)
				h.leaves(5210, 5220, 0)
			}
		}},
		{"the old holder writes late", func(s *story) {
			s.forces("b", 22, 23, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5010, 5400, 5200))
			s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5300, 5310, 0)
			s.writes("c1", guardedStore, "b", 24, 101, 5140, 5150, "")
			s.writes("c0", guardedStore, "b", 22, 102, 5160, 5170, history.ErrRefused)
		}},
		{"an operator may have left the lock, whose release failed", func(s *story) {
			h := s.renews("c0", "p", 22, 5000, 5010, 5400)
			h.leaves(5035, 5045, 0)
			s.forces("p", 22, 23, 5020, 5030, history.ErrNoQuorum, h)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		}},
		{"an operator may have left the lock, where a master was frozen", func(s *story) {
			s.fault(5000, 5040, "freeze(m1,40ms)")
			h := s.renews("c0", "p", 22, 5000, 5010, 5400)
			h.leaves(5035, 5045, 0)
			s.forces("p", 22, 23, 5020, 5030, "", h)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		}},
		{"the lock of one that died is gone, and an operator has it for a moment", func(s *story) {
			s.holds("c3", "b", 22, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.fault(6490, 6510, "force(n0,0s)")
			s.forces("b", 0, 23, 6495, 6505, "")
			s.fails("c0", "b", false, 6500, 6510, history.ErrHeld)
		}},
		{"what became of the call is not known, and the lease is as long as that can explain", func(s *story) {
			h := s.goesOn("c0", 22, 5000, 5010, 5410, 6490)
			for at := time.Duration(5310); at <= 6110; at += 200 {
				h.renewed(at, at+400)
			}
			s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h)
		}},
		{"the call has not ended", func(s *story) {
			s.renewedOn(8000, func(h heldLock) {
				s.forces("b", 22, 0, 5100, 0, "", h)
				h.told(7950)
			})
		}},
		{"the first of two calls does nothing, and the second takes the lock", func(s *story) {
			s.renewedOn(8000, func(h heldLock) {
				s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h)
				s.forces("b", 22, 23, 7800, 7810, "", h)
				h.told(7950)
			})
			s.holds("c1", "b", 24, 7815, 7820, 8200).leaves(7990, 7995, 0)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			mustPass(t, c.tell)
			s := good()
			c.tell(s)
			beginningsPass(t, s.sorted())
		})
	}
}

func TestForcesAreCounted(t *testing.T) {
	t.Parallel()
	s := &story{}
	h := s.goesOn("c0", 22, 5000, 5010, 5400, 5200)
	gone := s.goesOn("c1", 20, 4000, 4010, 4400, 4200)
	s.forces("b", 22, 0, 5050, 5060, history.ErrNoQuorum, h)
	s.forces("b", 22, 23, 5100, 5110, "", h, gone)
	v := All(s.sorted(), testBounds)
	v.Add(v)
	if v.Forced != 2 || v.ForcedOff != 2 {
		t.Errorf("%d locks were taken from %d holders, want 1 from 1, twice", v.Forced, v.ForcedOff)
	}
}

// Outside of the fault model, two that hold because of an operator prove nothing about leases.
func TestForcedOverlapsProveNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		held  time.Duration // by the one that is shown, or is not
		shown bool
		want  int
	}{{5010, true, 0}, {5010, false, 1}, {5150, true, 0}, {5150, false, 1}} {
		s := &story{}
		s.phase(0, history.OutOfModel)
		h := s.goesOn("c0", 22, 5000, c.held, 5400, 5200)
		if c.shown {
			s.forces("b", 22, 23, 5100, 5110, "", h)
		}
		s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5300, 5310, 0)
		if v := All(s.sorted(), testBounds); v.Overlaps != c.want || len(v.Violations) > 0 {
			t.Errorf("%+v: %d overlaps; %v", c, v.Overlaps, v.Violations)
		}
	}
}
