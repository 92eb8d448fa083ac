package check

import (
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// Histories without a violation. Each history is like a refused history, but has an excuse.
var passing = []scenario{
	{"an unlock", "", lostBeside(func(s *story) { s.lasts("c1", "d", 22, 5100, 5110, 5500).leaves(5200, 5230, 0) })},
	{"a lock outlives its unlock, because a late copy of its request was granted", "", func(s *story) {
		s.fault(4900, 5050, "late-copy(c0,m0+m1+m2,20ms,1,150ms)")
		s.renews("c0", "p", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
		s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		s.holds("c0", "p", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
	}},
	{"a client ends its own work, and leaves after the lease", "", func(s *story) {
		h := s.renews("c4", "b", 22, 5000, 5010, 5400)
		h.add(5100, history.Event{Kind: history.ContextEnded, Err: history.ErrCanceled})
		h.renewed(5200, 5600)
		h.leaves(5590, 5600, 0)
	}},
	{"a stale write of a client that is killed", "", func(s *story) {
		s.holds("c3", "b", 22, 5000, 5010, 5400)
		s.add(5100, history.Event{Kind: history.WriteBegins, Client: "c3", Call: 99, Name: "b", Store: history.Unguarded, Token: 22, Value: 102})
		s.client(5110, history.ClientKilled, "c3")
		s.holds("c1", "b", 24, 5100, 5410, 5800).leaves(5500, 5510, 0)
		s.writes("c1", history.Unguarded, "b", 24, 101, 5420, 5430, "")
		s.reads("c1", history.Unguarded, "b", 24, 102, 5440, 5450, "")
	}},
	{"no waiter gets the lock", "", func(s *story) {
		s.holds("c0", "b", 22, 3980, 4100, 4400).leaves(4200, 4210, 0)
		s.fails("c2", "b", true, 4000, 9100, history.ErrNoQuorum)
	}},
	{"a waiter cannot reach a quorum", "", func(s *story) {
		s.fault(3900, 9200, "partition(c2,m0+m1+m2,both,6s)")
		s.fails("c2", "b", true, 4000, 9100, history.ErrNoQuorum)
		s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
	}},
	{"the calls of a client that is killed do not end", "", func(s *story) {
		s.fails("c3", "c", false, 5000, 0, "")
		s.holds("c3", "d", 22, 5000, 5010, 5400).add(5020, history.Event{Kind: history.UnlockBegins})
		s.client(5030, history.ClientKilled, "c3")
	}},
	{"a call lasts as long as its client is stopped", "", func(s *story) {
		s.client(5000, history.ClientStopped, "c0")
		s.client(9000, history.ClientGoesOn, "c0")
		s.fails("c0", "b", false, 4900, 9010, history.ErrNoQuorum)
	}},
	{"a renewed hold is lost with two masters, and a third one on which a rival may have left something", "", func(s *story) {
		s.fault(4900, 5800, "freeze(m1+m3,900ms)")
		lostBesideARival("partition(c1,m4,both,900ms)", "b")(s)
	}},
	{"a renewed hold is lost with a master that was out of reach when it was to vote again", "", lostBeside(func(s *story) {
		s.fault(2500, 2500, "flushall(m1)")
		s.fault(3400, 3960, "freeze(m1,560ms)")
		s.fault(4900, 5800, "freeze(m2+m3,900ms)")
	})},
	{"a renewed hold is lost while the machine is busy", "", lostBeside(func(s *story) {
		s.reads("c1", history.Unguarded, "d", 0, 0, 5200, 5230, "")
	})},
	{"a renewed hold is lost with a majority of which some were members for a moment", "", lostBeside(func(s *story) {
		s.fault(4000, 4600, "suspend(m1,0s,600ms)")
		s.members(4600, "m0+m1+m2+m3+m4")
		s.fault(4900, 5800, "freeze(m2+m3,900ms)")
	})},
	{"a renewed hold is lost of a client that names few masters", "", lostBeside(func(s *story) {
		s.add(3900, history.Event{Kind: history.ClientStarts, Client: "c0", Masters: "m0+m1+m2"})
		s.fault(4900, 5800, "freeze(m2,900ms)")
	})},
	{"a free lock cannot be acquired with masters that do not vote yet", "", func(s *story) {
		s.fault(4400, 4500, "flushall(m0+m1+m2)")
		s.fails("c0", "p", false, 5500, 5510, history.ErrNoQuorum)
	}},
	{"a holder is stopped when its lease ends, for good", "", func(s *story) {
		s.holds("c0", "b", 22, 5000, 5010, 5400)
		s.client(5450, history.ClientStopped, "c0")
	}},
	{"a stalled request takes the lock late", "", func(s *story) {
		s.fault(4950, 5900, "stall(c1,m1+m2+m3,to-server,950ms)")
		s.fails("c1", "p", false, 5000, 5010, history.ErrTooSlow, 400*time.Millisecond)
		s.fails("c0", "p", false, 6310, 6320, history.ErrHeld)
		s.fault(6300, 6400, "script-flush(m4)")
	}},
	{"a flush without an answer", "", lostBeside(func(s *story) {
		s.failsToHurt(4800, 4900, "flushall(m1+m2+m3)", "flushall to m2: no answer")
	})},
	{"an inspected holder gets the lock later, beside the next one", "", func(s *story) {
		s.forces("b", 0, 23, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5150, 5400, 5200))
		s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5300, 5310, 0)
	}},
	{"the old holder is stopped", "", func(s *story) {
		s.client(5050, history.ClientStopped, "c0")
		s.client(5900, history.ClientGoesOn, "c0")
		s.forces("b", 22, 23, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5010, 5400, 5910))
	}},
	{"the old holder downgrades", "", func(s *story) {
		h := s.renews("c0", "b", 22, 5000, 5010, 5400)
		s.forces("b", 22, 23, 5100, 5110, "", h)
		s.holds("c1", "b", 24, 5105, 5120, 5500).leaves(5300, 5310, 0)
		h.downgrades(5150, 5160, history.ErrLost)
		h.contextEnds(5155)
		h.leaves(5165, 5170, 0)
	}},
	{"readers are taken out", "", func(s *story) {
		one := s.renewsReading("c0", "b", 22, 5000, 5010, 5400)
		other := s.renewsReading("c1", "b", 22, 5020, 5030, 5400)
		s.forces("b", 0, 24, 5100, 5110, "", one, other)
		s.readsIt("c2", "b", 24, 5115, 5120, 5500).leaves(5125, 5130, 0)
		s.holds("c2", "b", 25, 5140, 5150, 5600).leaves(5300, 5310, 0)
		for _, h := range []heldLock{one, other} {
			h.contextEnds(5200)
			h.leaves(5210, 5220, 0)
		}
	}},
	{"a reader gets the operator's token during the call", "", func(s *story) {
		s.forces("b", 0, 24, 5100, 5200, "")
		s.readsIt("c2", "b", 24, 5120, 5130, 5600).leaves(5300, 5310, 0)
	}},
	{"the others of a set are lost with it", "", func(s *story) {
		h := s.renews("c0", "b", 22, 5000, 5010, 5400)
		other := s.renews("c0", "p", 22, 5000, 5010, 5400)
		s.together(5000, h)
		s.forces("b", 22, 23, 5100, 5110, "", h)
		for _, h := range []heldLock{h, other} {
			h.contextEnds(5200)
			h.leaves(5210, 5220, 0)
		}
	}},
	{"the call has not ended", "", func(s *story) {
		s.renewedOn(8000, func(h heldLock) {
			s.forces("b", 22, 0, 5100, 0, "", h)
			h.contextEnds(7950)
		})
	}},
	{"a re-entry into a new hold finds no quorum beside faults of a minority", "", func(s *story) {
		s.fault(5100, 5800, "freeze(m1+m3,700ms)")
		s.renewedOn(5900, func(h heldLock) { h.failsToReenter(5409, 5410, history.ErrNoQuorum) })
	}},
	{"an operator takes a hold that is entered again", "", func(s *story) {
		h := s.renews("c0", "b", 22, 5000, 5010, 5400)
		s.forces("b", 22, 23, 5150, 5160, "", h)
		h.failsToReenter(5200, 5210, history.ErrHeld)
		h.leaves(5300, 5310, 0)
	}},
	{"an unlock finds no quorum beside a fault of a majority", "", func(s *story) {
		s.fault(4500, 5800, "freeze(m1+m2+m3,900ms)")
		s.renews("c0", "b", 22, 5000, 5010, 5400).leavesWith(5200, 5210, 0, history.ErrNoQuorum)
	}},
	{"a client ends before it is killed, and is started again", "", func(s *story) {
		h := s.lasts("c3", "b", 22, 5000, 5010, 5400)
		h.add(5200, history.Event{Kind: history.ContextEnded, Err: history.ErrCanceled})
		s.client(5210, history.ClientKilled, "c3")
		s.client(5220, history.ClientStarts, "c3")
		s.lasts("c3", "d", 22, 5500, 5510, 5900).leaves(5520, 5530, 0)
	}},
	{"the downgrade of a reader does nothing but renew it", "", func(s *story) {
		h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
		s.readsIt("c1", "b", 20, 5050, 5060, 5400).leaves(5350, 5360, 0)
		h.downgrades(5100, 5150, "")
		h.leaves(5200, 5210, 0)
		s.readsIt("c2", "b", 20, 5210, 5220, 5400).leaves(5300, 5310, 0)
	}},
	{"a reader that asks to write is refused at once", "", func(s *story) {
		h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
		h.upgrades(0, 5020, 5120, history.ErrUpgrade)
		h.leaves(5300, 5310, 0)
	}},
	{"a set times out, and others get one of its names", "", func(s *story) {
		s.failsTogether("c2", []string{"b", "p"}, true, 21_000, 31_100, history.ErrNoQuorum)
		s.holds("c0", "b", 42, 25_000, 25_010, 25_400).leaves(25_020, 25_030, 0)
	}},
	{"a set has one of its names while it waits for another", "", func(s *story) {
		s.holds("c0", "p", 42, 20_050, 20_060, 27_000).leaves(25_800, 25_810, 0)
		s.fails("c1", "b", false, 20_500, 20_510, history.ErrHeld)
		s.failsTogether("c2", []string{"b", "p"}, true, 21_000, 26_000, history.ErrHeld)
		s.fails("c1", "b", false, 23_000, 23_010, history.ErrHeld)
	}},
}

// Histories with a violation, by the violated rule. Each history comes with a part of the violation's text.
var refused = map[string][]scenario{
	Exclusion: {
		{"a context never ends, and another holds", "until 1m0s", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5900, 5910, 6300).leaves(5920, 5930, 0)
		}},
		{"an inspected holder has the lock beside an older one that was not", "c1 held it with token 21 until 5.25s, and did not notice its end before; c0 held it with token 22 from 5.15s", func(s *story) {
			old := s.holds("c1", "b", 21, 4900, 4910, 5300)
			h := s.goesOn("c0", 22, 5000, 5150, 5400, 5200)
			s.forces("b", 0, 0, 5100, 5110, history.ErrHeld, h)
			old.leaves(5250, 5260, 0)
		}},
		{"the call does nothing, and long after another has the lock beside the holder", "c0 held it with token 22 until 9s, and did not notice its end before; c1 held it with token 24 from 8s", func(s *story) {
			s.renewedOn(9000, func(h heldLock) { s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h) })
			s.holds("c1", "b", 24, 7990, 8000, 8400).leaves(8300, 8310, 0)
		}},
		{"another has the lock before the second of two calls, and the first did nothing", "c1 held it with token 24 from 8s", func(s *story) {
			s.renewedOn(9000, func(h heldLock) {
				s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h)
				s.forces("b", 22, 26, 8100, 8110, "", h)
			})
			s.holds("c1", "b", 24, 7990, 8000, 8400).leaves(8050, 8060, 0)
		}},
		{"a rival gets the lock of a dead holder before its lease ends", "b: c3 died at 5.05s and its lease with token 22 ends at 5.4s; c1 held it with token 24 from 5.395s", func(s *story) {
			s.lasts("c3", "b", 22, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.holds("c1", "b", 24, 5020, 5395, 5800).leaves(5500, 5510, 0)
		}},
		{"a reader comes while one writes", "b: c0 held it with token 22 until 5.3s, and did not notice its end before; c1 held it for reading from 5.11s", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5300, 5310, 0)
			s.readsIt("c1", "b", 22, 5100, 5110, 5500).leaves(5200, 5210, 0)
		}},
		{"a writer comes after the downgrade", "c1 held it with token 24 from 5.13s", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5110, "")
			s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5200, 5210, 0)
			h.leaves(5300, 5310, 0)
		}},
	},
	Lease: {
		{"a lease is found at its unlock to last for longer than was asked for", "c0 knew at 5.3s that its lease for reading ends at 5.8s", func(s *story) {
			h := s.renewsReading("c0", "b", 20, 5000, 5010, 5400)
			h.add(5300, history.Event{Kind: history.UnlockBegins, Until: 5800 * ms})
			h.add(5310, history.Event{Kind: history.UnlockEnds})
		}},
	},
	Tokens: {
		{"a token twice", "token 22 was had by c0 at 5.01s, and again by c1 at 5.11s", func(s *story) {
			s.holds("c0", "a", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.holds("c1", "a", 22, 5005, 5110, 5500).leaves(5120, 5130, 0)
		}},
		{"a token that goes back", "c1 asked at 5.1s and got token 24, but c0 had got 26 at 5.01s already", func(s *story) {
			s.holds("c0", "a", 26, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.holds("c1", "a", 24, 5100, 5110, 5500).leaves(5120, 5130, 0)
		}},
		{"a reader has a token after the downgrade", "b: c0 got token 22 at 5.13s with entry 2, and that of its hold is 0", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5110, "")
			h.rereads(22, 5120, 5130, 5400, 2).leaves(5200, 5210, 1)
			h.leaves(5300, 5310, 0)
		}},
		{"a reader misses the previous writer's token", "b: c1 asked to read at 5.04s and got token 21 as the last, but c0 had got 22 at 5.01s already", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.readsIt("c1", "b", 21, 5040, 5050, 5500).leaves(5200, 5210, 0)
		}},
		{"a writer's token is not above that of an earlier reader", "b: c0 asked at 5.04s and got token 24, but c1, who read, had got 24 as the last at 5.01s already", func(s *story) {
			s.readsIt("c1", "b", 24, 5000, 5010, 5500).leaves(5020, 5030, 0)
			s.holds("c0", "b", 24, 5040, 5050, 5400).leaves(5060, 5070, 0)
		}},
	},
	Upgrade: {
		{"a reader that asks to write waits", "b: c0, who read, asked at 5.02s to write, and got: held", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.upgrades(0, 5020, 5200, history.ErrHeld)
			h.leaves(5300, 5310, 0)
		}},
		{"a reader that asks to write gets it", "asked at 5.02s to write, and got it", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.upgrades(22, 5020, 5200, "")
			h.leaves(5300, 5310, 0)
		}},
		{"an upgrade is refused late, after the end of the hold", "b: c0, who read, asked at 5.02s to write, and was not refused until 5.13s", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5100)
			h.upgrades(0, 5020, 5130, history.ErrExpired)
			h.leaves(5135, 5140, 0)
		}},
		{"an upgrade reports a lost hold, which continues", "b: c0, who read, asked at 5.02s to write, and got: lost; the hold went on", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.upgrades(0, 5020, 5020, history.ErrLost)
			h.leaves(5300, 5310, 0)
		}},
	},
	Reentry: {
		{"a re-entry finds no quorum beside faults of a minority", "and got: no quorum; a quorum was there for it", func(s *story) {
			s.fault(4500, 5800, "freeze(m1+m3,900ms)")
			s.renewedOn(5900, func(h heldLock) { h.failsToReenter(5410, 5420, history.ErrNoQuorum) })
		}},
		{"a re-entry reports a lost hold, which continues", "b: c0 asked at 5.2s to enter its hold with token 22 again, and got: lost; the hold went on", func(s *story) {
			s.renewedOn(5600, func(h heldLock) { h.failsToReenter(5200, 5210, history.ErrLost) })
		}},
		{"a hold is re-entered after its end was reported", "b: c0 got the answer at 5.4s that its hold with token 22 is over; it asked at 5.41s to enter it again, and did", func(s *story) {
			h := s.lasts("c0", "b", 22, 5000, 5010, 5400)
			h.contextEnds(5400)
			h.reenters(5410, 5420, 5800, 2).leaves(5430, 5440, 1)
			h.leaves(5450, 5460, 0)
		}},
	},
	Unlock: {
		{"an unlock finds no quorum", "b: c0 unlocked entry 1 of its hold with token 22 at 5.2s, and got: no quorum; a quorum was there for it and unhurt since 4.75s", func(s *story) {
			s.renews("c0", "b", 22, 5000, 5010, 5400).leavesWith(5200, 5215, 0, history.ErrNoQuorum)
		}},
		{"a first unlock reports an earlier one", "b: c0 unlocked entry 1 of its hold with token 22 at 5.2s, for the first time, and got: released", func(s *story) {
			s.fault(4500, 5800, "freeze(m1+m2+m3,900ms)")
			s.lasts("c0", "b", 22, 5000, 5010, 5400).leavesWith(5200, 5210, 0, history.ErrReleased)
		}},
	},
	Wrote: {
		{"a reader writes", "b: c0 wrote 101 without a token", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			s.writes("c0", history.Unguarded, "b", 0, 101, 5020, 5030, "")
			h.leaves(5300, 5310, 0)
		}},
		{"a downgraded holder writes", "b: c0 wrote 101 with token 22, and has been a reader since 5.1s", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5110, "")
			s.writes("c0", history.Unguarded, "b", 22, 101, 5120, 5130, "")
			h.leaves(5300, 5310, 0)
		}},
	},
	Forced: {
		{"the token is the holder's", "with token 22, and that of the holder that was shown is 22", func(s *story) {
			s.forces("b", 22, 22, 5100, 5110, "", s.goesOn("c0", 22, 5000, 5010, 5400, 5200))
		}},
		{"the token is that of an operator before", "with token 22, and another one had got 22 at 5.01s already", func(s *story) {
			s.holds("c0", "b", 21, 4900, 4910, 5400).leaves(4920, 4930, 0)
			s.forces("b", 0, 22, 5000, 5010, "")
			s.forces("b", 0, 22, 5100, 5110, "")
		}},
		{"the next reader gets a lower token", "c0 asked at 5.12s and has token 21", func(s *story) {
			s.forces("b", 0, 22, 5100, 5110, "")
			s.readsIt("c0", "b", 21, 5120, 5130, 5400).leaves(5200, 5210, 0)
		}},
		{"the old holder reaches a quorum, and its context ends late", "and did not notice until 6.344s; its next renewal reached a quorum", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 7000)
			s.longTTL()
			h.contextEnds(6344)
			h.leaves(6350, 6360, 0)
			s.forces("b", 22, 23, 5100, 5110, "", h)
		}},
	},
	Notified: {
		{"a context does not end, and its client dies long after", "ended at 5.4s, and its entry 1 did not notice until", func(s *story) {
			s.renews("c0", "a", 22, 5000, 5010, 5400)
			s.client(6500, history.ClientKilled, "c0")
		}},
		{"the context of a re-entry is cancelled, and its client goes on until it is killed", "b: the context of entry 2 of the hold of c3 with token 22 was cancelled at 5.2s", func(s *story) {
			h := s.lasts("c3", "b", 22, 5000, 5010, 5400)
			reentry := h.reenters(5100, 5110, 5400, 2)
			reentry.add(5200, history.Event{Kind: history.ContextEnded, Err: history.ErrCanceled})
			reentry.leaves(5210, 5220, 1)
			h.leaves(5300, 5310, 0)
			s.lasts("c3", "d", 22, 5500, 5510, 5900).leaves(5520, 5530, 0)
			s.client(5600, history.ClientKilled, "c3")
		}},
	},
	Lost: {
		{"a renewed hold is lost because of one master, and another one on which a rival may have left something", "unhurt since 4.96s", func(s *story) {
			s.fault(4900, 5800, "freeze(m1,900ms)")
			lostBesideARival("partition(c1,m4,both,900ms)", "b")(s)
		}},
		{"a renewed hold is lost before an operator takes the lock", "the hold of c0 with token 22", func(s *story) {
			s.forces("b", 0, 23, 5210, 5220, "", s.goesOn("c0", 22, 5000, 5010, 5400, 5200))
		}},
		{"the call does nothing, and the lease is 1 ms longer than that can explain", "the hold of c0 with token 22", func(s *story) {
			h := s.goesOn("c0", 22, 5000, 5010, 6511, 6490)
			s.forces("b", 22, 0, 5100, 5110, history.ErrNoQuorum, h)
		}},
		{"an unlock finds a hold that nobody renews lost before its lease ends", "its unlock found it lost at 5.31s already", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5410).leavesWith(5300, 5310, 0, history.ErrLost)
		}},
	},
	Stale: {
		{"a holder whose context did not end writes after a newer one", "c0 came at 5.14s with token 22 and had not noticed yet that its hold was over, although c1 had been with 24 at 5.13s", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5110, 5500).leaves(5300, 5310, 0)
			s.writes("c1", history.Unguarded, "b", 24, 101, 5120, 5130, "")
			s.writes("c0", history.Unguarded, "b", 22, 102, 5140, 5150, "")
			h.leaves(5310, 5320, 0)
		}},
	},
	Fence: {
		{"a stale write is let in after a claim alone", "although c0 had been", func(s *story) {
			s.reads("c0", guardedStore, "b", 24, 0, 5000, 5010, "")
			s.writes("c1", guardedStore, "b", 22, 102, 5020, 5030, "")
		}},
		{"the newest is refused", "c1 was refused with token 26", func(s *story) {
			s.writes("c0", guardedStore, "b", 24, 101, 5000, 5010, "")
			s.writes("c1", guardedStore, "b", 26, 102, 5020, 5030, history.ErrRefused)
		}},
	},
	Durable: {
		{"an acknowledged write is lost", "the write of 102 by c0 was acknowledged at 5.03s, and c1 read an older value", func(s *story) {
			s.writes("c0", guardedStore, "b", 24, 101, 5000, 5010, "")
			s.writes("c0", guardedStore, "b", 24, 102, 5020, 5030, "")
			s.reads("c1", guardedStore, "b", 0, 101, 5040, 5050, "")
		}},
		{"a value out of nowhere", "read 77, which nobody wrote", func(s *story) {
			s.reads("c1", guardedStore, "b", 0, 77, 5040, 5050, "")
		}},
		{"a refused write is there", "the write of which was refused", func(s *story) {
			s.writes("c0", guardedStore, "b", 24, 101, 5000, 5010, "")
			s.writes("c1", guardedStore, "b", 22, 102, 5020, 5030, history.ErrRefused)
			s.reads("c1", guardedStore, "b", 0, 102, 5040, 5050, "")
		}},
	},
	Starvation: {
		{"a waiter starves", "c2 waited for it from 4s to 9.1s", func(s *story) {
			s.fails("c2", "a", true, 4000, 9100, history.ErrHeld)
		}},
		{"a write hangs", "the access of c2 at 30s hangs", func(s *story) {
			s.add(30_000, history.Event{Kind: history.WriteBegins, Client: "c2", Call: 99, Name: "b", Store: guardedStore, Token: 9, Value: 9})
		}},
		{"a try takes as long as a waiter may", "the call of c2 at 30s hangs: it took 4s and more", func(s *story) {
			s.fails("c2", "a", false, 30_000, 34_000, history.ErrNoQuorum)
		}},
		{"a writer starves while readers come", "b: c2 waited for it from 4s to 9.1s, and got at last: no quorum; c0 asked at 5s and got it at 5.01s", func(s *story) {
			s.fails("c2", "b", true, 4000, 9100, history.ErrNoQuorum)
			s.readsIt("c0", "b", 20, 5000, 5010, 5400).leaves(5020, 5030, 0)
		}},
		{"a downgrade hangs", "the downgrade of c2 at 30.02s hangs", func(s *story) {
			s.holds("c2", "b", 36, 30_000, 30_010, 30_400).downgrades(30_020, 0, "")
		}},
	},
	Leftover: {
		{"a try for a set that nobody uses is refused", "c0 tried at 5.5s to get [p q] and got: held; nobody had asked for that or had it since 5.1s, and a quorum was unhurt", func(s *story) {
			s.failsTogether("c0", []string{"q", "p"}, false, 5500, 5510, history.ErrHeld)
		}},
		{"an attempt that failed leaves its lock", "p: c0 got the answer at 5.51s that it is held", func(s *story) {
			s.fails("c0", "p", false, 5000, 5010, history.ErrNoQuorum)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
			s.holds("c0", "p", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}},
		{"a lone waiter gets held, beside a fault of one master", "p: c0 got the answer at 5.51s that it is held", func(s *story) {
			s.fault(5450, 5550, "script-flush(m0)")
			s.holds("c0", "p", 22, 5000, 5010, 6000).leaves(5020, 5030, 0)
			s.fails("c0", "p", true, 5500, 5510, history.ErrHeld)
		}},
		{"an operator leaves the lock", "p: c0 got the answer at 5.51s that it is held", func(s *story) {
			h := s.renews("c0", "p", 22, 5000, 5010, 5400)
			h.leaves(5035, 5045, 0)
			s.forces("p", 22, 23, 5020, 5030, "", h)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		}},
	},
	Recovery: {
		{"a name stays locked", "b: all faults ended at 20s, it was asked for at 20.5s, and nobody could lock it within 2s", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fails("c1", "b", false, 20_500, 20_510, history.ErrHeld)
			s.fails("c1", "b", false, 23_000, 23_010, history.ErrHeld)
		}},
	},
	BrokenRecord: {
		{"an unlock of nothing", "nothing is held by that call", func(s *story) {
			heldLock{s, "c0", 99, "a", 9}.leaves(5000, 5010, 0)
		}},
		{"a fault that is none", "there is no kind", func(s *story) { s.fault(5000, 5010, "melt(m0)") }},
		{"the end of a downgrade that did not begin", "no downgrade is under way", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.add(5100, history.Event{Kind: history.DowngradeEnds})
			h.leaves(5300, 5310, 0)
		}},
		{"a reader enters again what is not there", "it re-entered a hold that is not there", func(s *story) {
			s.readsIt("c0", "b", 20, 4900, 4910, 5400).leaves(5300, 5310, 0)
			heldLock{s, "c0", 99, "b", 0}.rereads(0, 5000, 5010, 5400, 2)
		}},
	},
}
