package check

import (
	"testing"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// What must not befall a hold that has a quorum which no fault hurts.
func TestBadHistoriesOfHealthyHolds(t *testing.T) {
	t.Parallel()
	refuseAll(t, []badHistory{
		{"a hold that nobody renews is told to be over before its lease ends", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5410)
			h.told(5300)
			h.leaves(5310, 5320, 0)
		}, Lost, "b: the lease of c0 with token 22 ended at 5.41s, and its holder was told that it is over at 5.3s already; a quorum was there for it and unhurt since 4.95s"},
		{"an unlock finds a hold that nobody renews lost before its lease ends", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5410).leavesWith(5300, 5310, 0, history.ErrLost)
		}, Lost, "its unlock found it lost at 5.31s already"},
		{"a renewed hold is lost when all masters are full", func(s *story) {
			h := s.renews("c0", "p", 22, 4500, 4510, 4910)
			h.renewed(4700, 5100)
			s.fault(5000, 6000, "oom(m0+m1+m2+m3+m4,1s)")
			h.renewed(5050, 5450)
			h.told(5450)
			h.leaves(5460, 5470, 0)
		}, Lost, "p: the hold of c0 with token 22 was renewed, and its holder was told that it is over at 5.45s; nothing was wrong but that masters were full"},
		{"a re-entry is told that another has the lock", func(s *story) {
			s.renewedOn(5600, func(h heldLock) { h.failsToReenter(5200, 5210, history.ErrHeld) })
		}, Reentry, "b: c0 asked at 5.2s to enter its hold with token 22 again, and was told: held; a quorum was there for it and unhurt since 4.75s"},
		{"a re-entry finds no quorum", func(s *story) {
			h := s.lasts("c0", "b", 22, 5000, 5010, 5400)
			h.failsToReenter(5200, 5210, history.ErrNoQuorum)
			h.leaves(5300, 5310, 0)
		}, Reentry, "and was told: no quorum; a quorum was there for it"},
		{"a re-entry finds no quorum beside faults of a minority", func(s *story) {
			s.fault(4500, 5800, "freeze(m1+m3,900ms)")
			s.renewedOn(5900, func(h heldLock) { h.failsToReenter(5410, 5420, history.ErrNoQuorum) })
		}, Reentry, "and was told: no quorum; a quorum was there for it"},
		{"a re-entry is told that the hold is lost, and it goes on", func(s *story) {
			s.renewedOn(5600, func(h heldLock) { h.failsToReenter(5200, 5210, history.ErrLost) })
		}, Reentry, "b: c0 asked at 5.2s to enter its hold with token 22 again, and was told: lost; the hold went on"},
		{"a re-entry is told that the hold has expired, and it goes on in spite of faults", func(s *story) {
			s.fault(4500, 5800, "freeze(m1+m2+m3,900ms)")
			s.renewedOn(5600, func(h heldLock) { h.failsToReenter(5200, 5210, history.ErrExpired) })
		}, Reentry, "and was told: expired; the hold went on"},
		{"a holder who was told that the hold is over enters it again", func(s *story) {
			h := s.lasts("c0", "b", 22, 5000, 5010, 5400)
			h.told(5400)
			h.reenters(5410, 5420, 5800, 2).leaves(5430, 5440, 1)
			h.leaves(5450, 5460, 0)
		}, Reentry, "b: c0 was told at 5.4s that its hold with token 22 is over; it asked at 5.41s to enter it again, and did"},
		{"an unlock finds no quorum", func(s *story) {
			s.renews("c0", "b", 22, 5000, 5010, 5400).leavesWith(5200, 5215, 0, history.ErrNoQuorum)
		}, Unlock, "b: c0 unlocked entry 1 of its hold with token 22 at 5.2s, and was told: no quorum; a quorum was there for it and unhurt since 4.75s"},
		{"the unlock of an entry finds the hold lost", func(s *story) {
			s.renewedOn(5600, func(h heldLock) { h.reenters(5100, 5110, 5500, 2).leavesWith(5200, 5210, 1, history.ErrLost) })
		}, Unlock, "b: c0 unlocked entry 2 of its hold with token 22 at 5.2s, and was told: lost"},
		{"a first unlock is told that there was one before", func(s *story) {
			s.fault(4500, 5800, "freeze(m1+m2+m3,900ms)")
			s.lasts("c0", "b", 22, 5000, 5010, 5400).leavesWith(5200, 5210, 0, history.ErrReleased)
		}, Unlock, "b: c0 unlocked entry 1 of its hold with token 22 at 5.2s, for the first time, and was told: released"},
		{"a rival gets the lock of a dead holder before its lease ends", func(s *story) {
			s.lasts("c3", "b", 22, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.holds("c1", "b", 24, 5020, 5395, 5800).leaves(5500, 5510, 0)
		}, Exclusion, "b: c3 died at 5.05s and its lease with token 22 ends at 5.4s; c1 held it with token 24 from 5.395s"},
		{"a rival gets the lock of a dead reader before its lease ends", func(s *story) {
			s.readsIt("c3", "b", 20, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.readsIt("c0", "b", 20, 5020, 5060, 5300).leaves(5080, 5090, 0)
			s.holds("c1", "b", 24, 5020, 5100, 5800).leaves(5500, 5510, 0)
		}, Exclusion, "b: c3 died at 5.05s and its lease for reading ends at 5.4s; c1 held it with token 24 from 5.1s"},
		{"a lease lasts for longer than was asked for", func(s *story) {
			s.lasts("c0", "b", 22, 5000, 5010, 5500).leaves(5200, 5210, 0)
		}, Lease, "b: c0 knew at 5.01s that its lease with token 22 ends at 5.5s, and had asked for no more than 400ms"},
		{"a renewal lasts for longer than was asked for", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5400)
			h.renewed(5200, 5700)
			h.leaves(5300, 5310, 0)
		}, Lease, "c0 knew at 5.2s that its lease with token 22 ends at 5.7s"},
		{"a lease is found at its unlock to last for longer than was asked for", func(s *story) {
			h := s.renewsReading("c0", "b", 20, 5000, 5010, 5400)
			h.add(5300, history.Event{Kind: history.UnlockBegins, Until: 5800 * ms})
			h.add(5310, history.Event{Kind: history.UnlockEnds})
		}, Lease, "c0 knew at 5.3s that its lease for reading ends at 5.8s"},
		{"the context of a hold is cancelled, and its client goes on", func(s *story) {
			h := s.lasts("c0", "b", 22, 5000, 5010, 5400)
			h.add(5200, history.Event{Kind: history.Told, Err: history.ErrCanceled})
			h.leaves(5300, 5310, 0)
			s.lasts("c0", "d", 22, 5500, 5510, 5900).leaves(5520, 5530, 0)
		}, Told, "b: the context of entry 1 of the hold of c0 with token 22 was cancelled at 5.2s, and nothing had ended it: its client asked for d at 5.5s, and got it"},
		{"the context of a re-entry is cancelled, and its client goes on until it is killed", func(s *story) {
			h := s.lasts("c3", "b", 22, 5000, 5010, 5400)
			again := h.reenters(5100, 5110, 5400, 2)
			again.add(5200, history.Event{Kind: history.Told, Err: history.ErrCanceled})
			again.leaves(5210, 5220, 1)
			h.leaves(5300, 5310, 0)
			s.lasts("c3", "d", 22, 5500, 5510, 5900).leaves(5520, 5530, 0)
			s.client(5600, history.ClientKilled, "c3")
		}, Told, "b: the context of entry 2 of the hold of c3 with token 22 was cancelled at 5.2s"},
	})
}

func TestHistoriesOfHoldsThatPass(t *testing.T) {
	t.Parallel()
	passAll(t, []goodHistory{
		{"a hold that nobody renews is told to be over at the end of its lease", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5410)
			h.told(5409)
			h.leaves(5410, 5420, 0)
		}},
		{"a renewed hold is lost when masters are full and others frozen", func(s *story) {
			h := s.renews("c0", "p", 22, 4500, 4510, 4910)
			h.renewed(4700, 5100)
			s.fault(5000, 6000, "oom(m0+m1+m2+m3+m4,1s)")
			s.fault(5010, 5990, "freeze(m0+m1+m2,980ms)")
			h.renewed(5050, 5450)
			h.told(5450)
			h.leaves(5460, 5470, 0)
		}},
		{"a hold that was not renewed yet is lost when masters are full", func(s *story) {
			h := s.renews("c0", "p", 22, 4700, 4710, 5110)
			s.fault(5000, 6000, "oom(m0+m1+m2+m3+m4,1s)")
			h.told(5110)
			h.leaves(5460, 5470, 0)
		}},
		{"a hold is lost that was had while masters were full", func(s *story) {
			s.fault(4000, 4900, "oom(m0+m1,900ms)")
			h := s.renews("c0", "p", 22, 4500, 4510, 4910)
			h.renewed(4900, 5300)
			s.fault(5000, 6000, "oom(m0+m1+m2+m3+m4,1s)")
			h.renewed(5050, 5450)
			h.told(5450)
			h.leaves(5460, 5470, 0)
		}},
		{"an operator takes a hold while masters are full", func(s *story) {
			h := s.renews("c0", "p", 22, 4500, 4510, 4910)
			h.renewed(4700, 5100)
			s.fault(5000, 6000, "oom(m0+m1+m2+m3+m4,1s)")
			h.renewed(5050, 5450)
			s.forces("p", 22, 23, 5300, 5310, "", h)
			h.told(5450)
			h.leaves(5460, 5470, 0)
		}},
		{"an unlock of a hold that nobody renews arrives after the end of its lease", func(s *story) {
			s.lasts("c0", "p", 22, 5000, 5010, 5410).leavesWith(5405, 5415, 0, history.ErrLost)
		}},
		{"a hold that nobody renews is lost with masters that lost their data when it was had", func(s *story) {
			s.fault(4960, 5000, "flushall(m0+m1+m2)")
			h := s.holds("c0", "b", 22, 5000, 5010, 8000)
			h.told(7800)
			h.leaves(7810, 7820, 0)
		}},
		{"a hold that nobody renews, and that may be on no more than a quorum, is told to be over beside faults of a minority", func(s *story) {
			s.fault(5100, 5800, "freeze(m1+m3,700ms)")
			h := s.lasts("c0", "b", 22, 5000, 5010, 5410)
			h.failsToReenter(5200, 5210, history.ErrNoQuorum)
			h.told(5300)
			h.leavesWith(5310, 5320, 0, history.ErrLost)
		}},
		{"a re-entry into a hold that has just been had finds no quorum beside faults of a minority", func(s *story) {
			s.fault(5100, 5800, "freeze(m1+m3,700ms)")
			s.renewedOn(5900, func(h heldLock) { h.failsToReenter(5409, 5410, history.ErrNoQuorum) })
		}},
		{"an operator takes a hold that nobody renews", func(s *story) {
			h := s.lasts("c0", "b", 22, 5000, 5010, 5410)
			s.forces("b", 22, 23, 5200, 5210, "", h)
			h.told(5300)
			h.leaves(5310, 5320, 0)
		}},
		{"a re-entry finds no quorum beside a fault of a majority", func(s *story) {
			s.fault(4500, 5800, "freeze(m1+m2+m3,900ms)")
			s.renewedOn(5600, func(h heldLock) { h.failsToReenter(5200, 5210, history.ErrNoQuorum) })
		}},
		{"a re-entry is told that the hold is lost, and so is its holder", func(s *story) {
			s.fault(4500, 5800, "freeze(m1+m2+m3,900ms)")
			h := s.renews("c0", "b", 22, 5000, 5010, 5400)
			h.failsToReenter(5200, 5210, history.ErrLost)
			h.told(5310)
			h.leaves(5320, 5330, 0)
		}},
		{"a re-entry finds no quorum when the lease ends", func(s *story) {
			h := s.lasts("c0", "b", 22, 5000, 5010, 5400)
			h.failsToReenter(5390, 5400, history.ErrNoQuorum)
			h.leaves(5410, 5420, 0)
		}},
		{"a re-entry is canceled", func(s *story) {
			s.renewedOn(5600, func(h heldLock) { h.failsToReenter(5200, 5210, history.ErrCanceled) })
		}},
		{"a holder enters a hold again that is over when it is told", func(s *story) {
			h := s.lasts("c0", "b", 22, 5000, 5010, 5400)
			h.told(5400)
			h.reenters(5400, 5402, 5400, 2).leaves(5430, 5440, 1)
			h.leaves(5450, 5460, 0)
		}},
		{"an operator takes a hold that is entered again", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5400)
			s.forces("b", 22, 23, 5150, 5160, "", h)
			h.failsToReenter(5200, 5210, history.ErrHeld)
			h.leaves(5300, 5310, 0)
		}},
		{"an unlock finds no quorum beside a fault of a majority", func(s *story) {
			s.fault(4500, 5800, "freeze(m1+m2+m3,900ms)")
			s.renews("c0", "b", 22, 5000, 5010, 5400).leavesWith(5200, 5210, 0, history.ErrNoQuorum)
		}},
		{"an unlock finds no quorum while the machine is busy", func(s *story) {
			s.renews("c0", "b", 22, 5000, 5010, 5400).leavesWith(5200, 5221, 0, history.ErrNoQuorum)
		}},
		{"an unlock has not ended when the lease ends", func(s *story) {
			s.lasts("c0", "b", 22, 5000, 5010, 5400).leavesWith(5390, 5400, 0, history.ErrNoQuorum)
		}},
		{"a rival gets the lock of a dead holder when its lease ends", func(s *story) {
			s.lasts("c3", "b", 22, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.holds("c1", "b", 24, 5020, 5400, 5800).leaves(5500, 5510, 0)
		}},
		{"a rival gets the lock of a holder that died when it had begun to give it back", func(s *story) {
			h := s.lasts("c3", "b", 22, 5000, 5010, 5400)
			h.add(5040, history.Event{Kind: history.UnlockBegins})
			s.client(5050, history.ClientKilled, "c3")
			s.holds("c1", "b", 24, 5020, 5060, 5800).leaves(5500, 5510, 0)
		}},
		{"a rival gets the lock of a holder that knew that it had lost it, and died", func(s *story) {
			s.fault(4500, 5800, "freeze(m1+m2+m3,900ms)")
			h := s.lasts("c3", "b", 22, 5000, 5010, 5400)
			h.told(5040)
			s.client(5050, history.ClientKilled, "c3")
			s.holds("c1", "b", 24, 5020, 5060, 5800).leaves(5500, 5510, 0)
		}},
		{"an operator takes the lock of a dead holder, and a rival gets it", func(s *story) {
			h := s.lasts("c3", "b", 22, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.forces("b", 22, 23, 5060, 5070, "", h)
			s.holds("c1", "b", 24, 5080, 5090, 5480).leaves(5300, 5310, 0)
		}},
		{"others read what a dead reader has", func(s *story) {
			s.readsIt("c3", "b", 20, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.readsIt("c0", "b", 20, 5020, 5060, 5300).leaves(5080, 5090, 0)
		}},
		{"a lease lasts for as long as was asked for, from when it is told", func(s *story) {
			s.lasts("c0", "b", 22, 5000, 5010, 5410).leaves(5200, 5210, 0)
		}},
		{"a re-entry makes a lease last for longer", func(s *story) {
			h := s.lasts("c0", "b", 22, 5000, 5010, 5400)
			again := h.reenters(5100, 5110, 6100, 2)
			s.events[len(s.events)-2].TTL = 1000 * ms
			again.leaves(5200, 5210, 1)
			h.leaves(5300, 5310, 0)
		}},
		{"a client ends, and asks for one more lock", func(s *story) {
			h := s.lasts("c4", "b", 22, 5000, 5010, 5400)
			s.lasts("c4", "d", 22, 5200, 5205, 5600).leaves(5520, 5530, 0)
			h.add(5200, history.Event{Kind: history.Told, Err: history.ErrCanceled})
			h.leaves(5300, 5310, 0)
			s.fails("c4", "d", false, 5320, 5320, history.ErrCanceled)
		}},
		{"a client ends before it is killed, and is started again", func(s *story) {
			h := s.lasts("c3", "b", 22, 5000, 5010, 5400)
			h.add(5200, history.Event{Kind: history.Told, Err: history.ErrCanceled})
			s.client(5210, history.ClientKilled, "c3")
			s.client(5220, history.ClientStarts, "c3")
			s.lasts("c3", "d", 22, 5500, 5510, 5900).leaves(5520, 5530, 0)
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
	})
}
