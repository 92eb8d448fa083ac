package check

import (
	"testing"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

func TestBadHistoriesOfReaders(t *testing.T) {
	t.Parallel()
	refuseAll(t, []badHistory{
		{"a reader comes while one writes", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5300, 5310, 0)
			s.readsIt("c1", "b", 22, 5100, 5110, 5500).leaves(5200, 5210, 0)
		}, Exclusion, "b: c0 held it with token 22 until 5.3s, and was not told before; c1 held it for reading from 5.11s"},
		{"a writer comes while one reads", func(s *story) {
			s.readsIt("c0", "b", 20, 5000, 5010, 5400).leaves(5300, 5310, 0)
			s.holds("c1", "b", 24, 5100, 5110, 5500).leaves(5200, 5210, 0)
		}, Exclusion, "b: c0 held it for reading until 5.3s, and was not told before; c1 held it with token 24 from 5.11s"},
		{"a writer comes when the first of two readers has left", func(s *story) {
			s.readsIt("c0", "b", 20, 5000, 5010, 5400).leaves(5300, 5310, 0)
			s.readsIt("c2", "b", 20, 5020, 5030, 5400).leaves(5100, 5110, 0)
			s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5200, 5210, 0)
		}, Exclusion, "c0 held it for reading until 5.3s"},
		{"a reader comes while one writes, and another has read", func(s *story) {
			s.readsIt("c2", "b", 20, 4900, 4910, 5400).leaves(5000, 5010, 0)
			s.holds("c0", "b", 22, 4990, 5020, 5400).leaves(5300, 5310, 0)
			s.readsIt("c1", "b", 22, 5100, 5110, 5500).leaves(5200, 5210, 0)
		}, Exclusion, "c0 held it with token 22 until 5.3s"},
		{"a reader comes before the downgrade", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.readsIt("c1", "b", 22, 5050, 5090, 5500).leaves(5200, 5210, 0)
			h.downgrades(5100, 5110, "")
			h.leaves(5300, 5310, 0)
		}, Exclusion, "c0 held it with token 22 (for reading from 5.1s on) until 5.3s"},
		{"a writer comes after the downgrade", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5110, "")
			s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5200, 5210, 0)
			h.leaves(5300, 5310, 0)
		}, Exclusion, "c1 held it with token 24 from 5.13s"},
		{"a writer comes in the middle of the downgrade", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5200, history.ErrNoQuorum)
			s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5140, 5150, 0)
			h.leaves(5300, 5310, 0)
		}, Exclusion, "c1 held it with token 24 from 5.13s"},
		{"a reader has a token", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			s.events[len(s.events)-1].Token = 22
			h.token = 22
			h.leaves(5300, 5310, 0)
		}, Tokens, "b: c0 got token 22 at 5.01s with entry 1, and that of its hold is 0"},
		{"a reader has a token after the downgrade", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5110, "")
			h.rereads(22, 5120, 5130, 5400, 2).leaves(5200, 5210, 1)
			h.leaves(5300, 5310, 0)
		}, Tokens, "b: c0 got token 22 at 5.13s with entry 2, and that of its hold is 0"},
		{"an entry of a writer has no token", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.rereads(0, 5120, 5130, 5400, 2).leaves(5200, 5210, 1)
			h.leaves(5300, 5310, 0)
		}, Tokens, "b: c0 got token 0 at 5.13s with entry 2, and that of its hold is 22"},
		{"a reader is not told of the writer before", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.readsIt("c1", "b", 21, 5040, 5050, 5500).leaves(5200, 5210, 0)
		}, Tokens, "b: c1 asked to read at 5.04s and was told of token 21 as the last, but c0 had got 22 at 5.01s already"},
		{"a writer after a reader has no higher token than that was told of", func(s *story) {
			s.readsIt("c1", "b", 24, 5000, 5010, 5500).leaves(5020, 5030, 0)
			s.holds("c0", "b", 24, 5040, 5050, 5400).leaves(5060, 5070, 0)
		}, Tokens, "b: c0 asked at 5.04s and got token 24, but c1, who read, had been told of 24 as the last at 5.01s already"},
		{"a writer after two readers has no higher token than the first was told of", func(s *story) {
			s.readsIt("c1", "b", 26, 5000, 5010, 5500).leaves(5020, 5030, 0)
			s.readsIt("c1", "b", 24, 5000, 5011, 5500).leaves(5020, 5030, 0)
			s.holds("c0", "b", 25, 5040, 5050, 5400).leaves(5060, 5070, 0)
		}, Tokens, "c0 asked at 5.04s and got token 25, but c1, who read, had been told of 26"},
		{"a reader is not told", func(s *story) {
			s.readsIt("c0", "b", 20, 5000, 5010, 5400).leaves(6000, 6010, 0)
		}, Told, "the lease of c0 for reading ended at 5.4s, and its entry 1 was not told until 6.01s"},
		{"the second of two readers of a client is not told", func(s *story) {
			s.readsIt("c0", "b", 20, 5000, 5010, 5400).told(5401)
			s.readsIt("c0", "b", 20, 5000, 5010, 5410).leaves(6000, 6010, 0)
		}, Told, "the lease of c0 for reading ended at 5.41s"},
		{"a downgraded holder is not told", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5110, "")
			h.leaves(6000, 6010, 0)
		}, Told, "its entry 1 was not told until 6.01s"},
		{"a renewed read hold is lost in calm", func(s *story) {
			h := s.renewsReading("c0", "b", 20, 5000, 5010, 5410)
			h.renewed(5390, 5790)
			h.told(5700)
			h.leaves(5710, 5720, 0)
		}, Lost, "b: the hold of c0 for reading was renewed, and its holder was told that it is over at 5.7s; a quorum was there for it and unhurt since 5.25s"},
		{"a renewed hold is lost by its downgrade", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5410)
			h.downgrades(5100, 5110, history.ErrLost)
			h.told(5110)
			h.leaves(5120, 5130, 0)
		}, Lost, "its holder was told that it is over at 5.11s"},
		{"a reader writes", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			s.writes("c0", history.Unguarded, "b", 0, 101, 5020, 5030, "")
			h.leaves(5300, 5310, 0)
		}, Wrote, "b: c0 wrote 101 without a token"},
		{"a downgraded holder writes", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5110, "")
			s.writes("c0", history.Unguarded, "b", 22, 101, 5120, 5130, "")
			h.leaves(5300, 5310, 0)
		}, Wrote, "b: c0 wrote 101 with token 22, and has been a reader since 5.1s"},
		{"a reader that asks to write waits", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.upgrades(0, 5020, 5200, history.ErrHeld)
			h.leaves(5300, 5310, 0)
		}, Upgrade, "b: c0, who read, asked at 5.02s to write, and was told: held"},
		{"a reader that asks to write gets it", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.upgrades(22, 5020, 5200, "")
			h.leaves(5300, 5310, 0)
		}, Upgrade, "asked at 5.02s to write, and got it"},
		{"a downgraded holder that asks to write waits", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5110, "")
			h.upgrades(0, 5120, 5200, history.ErrHeld)
			h.leaves(5300, 5310, 0)
		}, Upgrade, "b: c0, who read, asked at 5.12s to write, and was told: held"},
		{"a reader that asks to write is refused late", func(s *story) {
			s.fault(4900, 5800, "freeze(m1+m2+m3,900ms)")
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.upgrades(0, 5020, 5121, history.ErrUpgrade)
			h.leaves(5300, 5310, 0)
		}, Upgrade, "b: c0, who read, asked at 5.02s to write, and was not refused until 5.121s"},
		{"a reader that asks to write is told late that its hold is over", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5100)
			h.upgrades(0, 5020, 5130, history.ErrExpired)
			h.leaves(5135, 5140, 0)
		}, Upgrade, "b: c0, who read, asked at 5.02s to write, and was not refused until 5.13s"},
		{"a reader that asks to write is told that its hold is lost, and it goes on", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.upgrades(0, 5020, 5020, history.ErrLost)
			h.leaves(5300, 5310, 0)
		}, Upgrade, "b: c0, who read, asked at 5.02s to write, and was told: lost; the hold went on"},
		{"a writer starves while readers come", func(s *story) {
			s.fails("c2", "b", true, 4000, 9100, history.ErrNoQuorum)
			s.readsIt("c0", "b", 20, 5000, 5010, 5400).leaves(5020, 5030, 0)
		}, Starvation, "b: c2 waited for it from 4s to 9.1s, and was told at last: no quorum; c0 asked at 5s and got it at 5.01s"},
		{"a reader starves", func(s *story) {
			s.fails("c2", "b", true, 4000, 9100, history.ErrHeld)
			s.events[len(s.events)-2].Reads = true
		}, Starvation, "b: c2 waited for it from 4s to 9.1s, and was told at last that others hold it"},
		{"a reader comes before a writer that waits", func(s *story) {
			s.readsIt("c0", "b", 20, 4900, 5000, 6000).leaves(5700, 5710, 0)
			s.readsIt("c1", "b", 20, 5450, 5460, 5900).leaves(5500, 5510, 0)
			s.holds("c2", "b", 22, 5010, 5720, 6000).leaves(5800, 5810, 0)
		}, Starvation, "b: c2 has waited for it since 5.01s to write, and there was no fault; c1 asked at 5.45s to read and got it at 5.46s"},
		{"a reader comes before a writer that waits, and before one of its client that came later", func(s *story) {
			s.readsIt("c0", "b", 20, 4900, 5000, 6000).leaves(5700, 5710, 0)
			s.readsIt("c1", "b", 20, 5450, 5460, 5900).leaves(5500, 5510, 0)
			s.holds("c2", "b", 22, 5010, 5720, 6000).leaves(5800, 5810, 0)
			s.holds("c1", "b", 24, 5420, 5820, 6200).leaves(5850, 5860, 0)
		}, Starvation, "b: c2 has waited for it since 5.01s to write, and there was no fault; c1 asked at 5.45s to read and got it at 5.46s"},
		{"a reader comes before a writer that waits, long after the turn of one of its client", func(s *story) {
			s.holds("c1", "b", 20, 4700, 4800, 5200).leaves(4850, 4860, 0)
			s.readsIt("c0", "b", 20, 4900, 5000, 6000).leaves(5700, 5710, 0)
			s.readsIt("c1", "b", 20, 5450, 5460, 5900).leaves(5500, 5510, 0)
			s.holds("c2", "b", 22, 5010, 5720, 6000).leaves(5800, 5810, 0)
		}, Starvation, "b: c2 has waited for it since 5.01s to write, and there was no fault; c1 asked at 5.45s to read and got it at 5.46s"},
		{"a downgrade hangs", func(s *story) {
			s.holds("c2", "b", 36, 30_000, 30_010, 30_400).downgrades(30_020, 0, "")
		}, Starvation, "the downgrade of c2 at 30.02s hangs"},
		{"a downgrade takes long", func(s *story) {
			h := s.holds("c2", "b", 36, 30_000, 30_010, 33_500)
			h.downgrades(30_020, 33_000, "")
			h.leaves(33_100, 33_110, 0)
		}, Starvation, "the downgrade of c2 at 30.02s hangs: it took 2.98s and more"},
		{"the lock of a reader outlives it", func(s *story) {
			s.readsIt("c3", "b", 20, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.fails("c0", "b", false, 6500, 6510, history.ErrHeld)
			s.holds("c0", "b", 24, 7000, 7010, 7400).leaves(7020, 7030, 0)
			s.holds("c0", "b", 36, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Outlived, "c3 died at 5.05s and its lease for reading ended at 5.4s; c0 asked at 6.5s, alone, and was told that it is held"},
		{"the lock of a reader outlives it, and another reader left before", func(s *story) {
			s.readsIt("c0", "b", 20, 4980, 4990, 8000).leaves(5100, 5110, 0)
			s.readsIt("c3", "b", 20, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.fails("c1", "b", false, 6500, 6510, history.ErrHeld)
		}, Outlived, "c3 died at 5.05s and its lease for reading ended at 5.4s"},
		{"a reader is refused while others read", func(s *story) {
			s.readsIt("c0", "p", 20, 4000, 4010, 6000).leaves(5800, 5810, 0)
			s.triesToRead("c1", "p", 5500, 5510, history.ErrHeld)
			s.holds("c0", "p", 36, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Leftover, "p: c1 was told at 5.51s that it is held"},
		{"two who try to read are refused, and nobody writes", func(s *story) {
			s.triesToRead("c0", "p", 5500, 5510, history.ErrHeld)
			s.triesToRead("c1", "p", 5500, 5510, history.ErrHeld)
		}, Leftover, "p: c1 was told at 5.51s that it is held"},
		{"the lock of a reader is there after its unlock", func(s *story) {
			s.readsIt("c0", "p", 20, 5000, 5010, 6000).leaves(5020, 5030, 0)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
			s.holds("c0", "p", 36, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Leftover, "p: c0 was told at 5.51s that it is held"},
		{"a reader enters again after one wrote", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.told(5401)
			s.holds("c1", "b", 24, 5410, 5420, 5800).leaves(5430, 5440, 0)
			h.rereads(0, 5450, 5460, 5400, 2).leaves(5470, 5480, 1)
			h.leaves(5490, 5500, 0)
			s.holds("c0", "b", 36, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Linear, "somebody re-enters for reading, told of token 20 (from 5.45s to 5.46s) cannot be explained"},
		{"a writer comes while two read, as Porcupine sees it", func(s *story) {
			s.readsIt("c0", "b", 20, 5000, 5010, 5400).leaves(5300, 5310, 0)
			s.readsIt("c2", "b", 20, 5000, 5010, 5400).leaves(5300, 5310, 0)
			s.holds("c1", "b", 24, 5100, 5110, 5500).leaves(5200, 5210, 0)
		}, Linear, "b as a lock that expires: after 2 operations it is held by 2 readers"},
		{"a writer comes after the downgrade, as Porcupine sees it", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5110, "")
			s.holds("c1", "b", 24, 5120, 5130, 5500).leaves(5200, 5210, 0)
			h.leaves(5300, 5310, 0)
		}, Linear, "b as a lock that expires: after 2 operations it is held by 1 readers"},
		{"a reader comes while one writes, as Porcupine sees it", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5300, 5310, 0)
			s.readsIt("c1", "b", 22, 5100, 5110, 5500).leaves(5200, 5210, 0)
		}, Linear, "b as a lock that expires: after 1 operations it is held with token 22"},
		{"readers that no order explains", func(s *story) {
			s.readsIt("c1", "b", 24, 5000, 5010, 5500).leaves(5020, 5030, 0)
			s.readsIt("c2", "b", 22, 5040, 5050, 5500).leaves(5060, 5070, 0)
			s.holds("c0", "b", 23, 4990, 5200, 5400).leaves(5210, 5220, 0)
		}, Linear, "b as a reentrant lock with tokens"},
		{"the end of a downgrade that did not begin", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.add(5100, history.Event{Kind: history.DowngradeEnds})
			h.leaves(5300, 5310, 0)
		}, BrokenRecord, "no downgrade is under way"},
		{"a reader enters again what is not there", func(s *story) {
			s.readsIt("c0", "b", 20, 4900, 4910, 5400).leaves(5300, 5310, 0)
			heldLock{s, "c0", 99, "b", 0}.rereads(0, 5000, 5010, 5400, 2)
		}, BrokenRecord, "it re-entered a hold that is not there"},
	})
}

// Each is like one that is refused, but for what excuses it.
func TestHistoriesOfReadersThatPass(t *testing.T) {
	t.Parallel()
	passAll(t, []goodHistory{
		{"readers read at a time, and then one writes", func(s *story) {
			s.readsIt("c0", "b", 20, 5000, 5010, 5400).leaves(5300, 5310, 0)
			s.readsIt("c1", "b", 20, 5020, 5030, 5400).leaves(5200, 5210, 0)
			s.readsIt("c1", "b", 20, 5020, 5040, 5400).leaves(5350, 5360, 0)
			s.holds("c2", "b", 22, 5300, 5370, 5700).leaves(5400, 5410, 0)
			s.readsIt("c0", "b", 22, 5380, 5420, 5900).leaves(5500, 5510, 0)
		}},
		{"a reader comes when the lease of a writer has ended", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.readsIt("c1", "b", 22, 5100, 5410, 5800).leaves(5500, 5510, 0)
			h.told(5440)
			h.leaves(5450, 5460, 0)
		}},
		{"a reader comes in the middle of a downgrade, and another after it", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.downgrades(5100, 5150, "")
			s.readsIt("c1", "b", 22, 5050, 5120, 5400).leaves(5300, 5310, 0)
			s.readsIt("c2", "b", 22, 5160, 5170, 5400).leaves(5300, 5310, 0)
			h.rereads(0, 5180, 5190, 5400, 2).leaves(5200, 5210, 1)
			h.leaves(5350, 5360, 0)
			s.holds("c1", "b", 24, 5360, 5370, 5700).leaves(5400, 5410, 0)
		}},
		{"a downgrade reaches no quorum, and another one does", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5900)
			h.downgrades(5100, 5250, history.ErrNoQuorum)
			h.downgrades(5260, 5270, "")
			s.readsIt("c1", "b", 22, 5050, 5280, 5400).leaves(5300, 5310, 0)
			h.leaves(5350, 5360, 0)
		}},
		{"the downgrade of a reader does nothing but renew it", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			s.readsIt("c1", "b", 20, 5050, 5060, 5400).leaves(5350, 5360, 0)
			h.downgrades(5100, 5150, "")
			h.leaves(5200, 5210, 0)
			s.readsIt("c2", "b", 20, 5210, 5220, 5400).leaves(5300, 5310, 0)
		}},
		{"a downgrade comes after the lease, and nothing has changed", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.told(5400)
			h.downgrades(5410, 5410, history.ErrExpired)
			h.leaves(5420, 5430, 0)
			s.holds("c1", "b", 24, 5100, 5450, 5700).leaves(5500, 5510, 0)
		}},
		{"a writer enters again for reading, and writes", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.rereads(22, 5120, 5130, 5400, 2).leaves(5200, 5210, 1)
			s.writes("c0", history.Unguarded, "b", 22, 101, 5220, 5230, "")
			h.leaves(5300, 5310, 0)
		}},
		{"a writer writes, and then downgrades and reads", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.writes("c0", guardedStore, "b", 22, 101, 5020, 5030, "")
			h.downgrades(5100, 5110, "")
			s.reads("c0", guardedStore, "b", 0, 101, 5120, 5130, "")
			h.leaves(5300, 5310, 0)
		}},
		{"a reader asks while a writer does, and is told of its token or not", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5050, 5400).leaves(5100, 5110, 0)
			s.readsIt("c1", "b", 21, 5010, 5020, 5300).leaves(5030, 5040, 0)
			s.holds("c0", "b", 24, 5120, 5150, 5400).leaves(5160, 5170, 0)
			s.readsIt("c1", "b", 29, 5130, 5180, 5500).leaves(5200, 5210, 0)
		}},
		{"a writer after a reader has the next token", func(s *story) {
			s.readsIt("c1", "b", 24, 5000, 5010, 5500).leaves(5020, 5030, 0)
			s.holds("c0", "b", 25, 5040, 5050, 5400).leaves(5060, 5070, 0)
		}},
		{"a writer enters again for writing", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.upgrades(22, 5020, 5030, "").leaves(5040, 5050, 1)
			h.leaves(5300, 5310, 0)
		}},
		{"a reader that asks to write is refused at once", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.upgrades(0, 5020, 5120, history.ErrUpgrade)
			h.leaves(5300, 5310, 0)
		}},
		{"a reader that asks to write is refused late, for its client is stopped", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5800)
			s.client(5030, history.ClientStopped, "c0")
			s.client(5530, history.ClientGoesOn, "c0")
			h.upgrades(0, 5020, 5621, history.ErrUpgrade)
			h.leaves(5700, 5710, 0)
		}},
		{"a reader that asks to write is told that its hold is lost, and so is its context", func(s *story) {
			s.fault(4900, 5800, "freeze(m1+m2+m3,900ms)")
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.upgrades(0, 5020, 5020, history.ErrLost)
			h.told(5100)
			h.leaves(5300, 5310, 0)
		}},
		{"a reader that asks to write hears that its hold is over", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			h.told(5400)
			h.upgrades(0, 5410, 5410, history.ErrExpired)
			h.leaves(5420, 5430, 0)
		}},
		{"a renewed read hold is lost with a majority", func(s *story) {
			s.fault(4900, 5800, "freeze(m1+m3+m4,900ms)")
			h := s.renewsReading("c0", "b", 20, 5000, 5010, 5410)
			h.told(5410)
			h.leaves(5420, 5430, 0)
		}},
		{"a reader is told a little late", func(s *story) {
			h := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5410, 5800).leaves(5500, 5510, 0)
			h.told(5440)
			h.leaves(5450, 5460, 0)
		}},
		{"a writer waits while others read who came before", func(s *story) {
			s.readsIt("c0", "b", 20, 4000, 4010, 9600).leaves(9500, 9510, 0)
			s.fails("c2", "b", true, 5000, 9500, history.ErrHeld)
		}},
		{"a reader comes before a writer that waits, in the turn of one of its client that came before", func(s *story) {
			s.readsIt("c0", "b", 20, 4700, 4800, 6000).leaves(5440, 5455, 0)
			s.holds("c1", "b", 24, 4900, 5820, 6200).leaves(5850, 5860, 0)
			s.readsIt("c1", "b", 20, 5430, 5460, 5900).leaves(5500, 5510, 0)
			s.holds("c2", "b", 22, 5010, 5720, 6000).leaves(5800, 5810, 0)
		}},
		{"a reader comes soon after a writer that waits, and gets it first", func(s *story) {
			s.readsIt("c0", "b", 20, 4900, 5000, 6000).leaves(5700, 5710, 0)
			s.readsIt("c1", "b", 20, 5350, 5360, 5900).leaves(5500, 5510, 0)
			s.holds("c2", "b", 22, 5010, 5720, 6000).leaves(5800, 5810, 0)
		}},
		{"a reader comes before a writer that waits behind another of its client", func(s *story) {
			s.readsIt("c2", "b", 20, 4900, 5000, 6000).leaves(5700, 5710, 0)
			s.readsIt("c1", "b", 20, 5450, 5460, 5900).leaves(5500, 5510, 0)
			s.holds("c2", "b", 22, 5010, 5720, 6000).leaves(5800, 5810, 0)
		}},
		{"a reader comes before a writer that waits, with connections that are silent yet", func(s *story) {
			s.fault(4000, 4550, "stall(c2,m0+m1+m2,both,550ms)")
			s.readsIt("c0", "b", 20, 4900, 5000, 6000).leaves(5700, 5710, 0)
			s.readsIt("c1", "b", 20, 5450, 5460, 5900).leaves(5500, 5510, 0)
			s.holds("c2", "b", 22, 5010, 5720, 6000).leaves(5800, 5810, 0)
		}},
		{"a reader with connections that are silent yet comes before a writer that waits", func(s *story) {
			s.fault(4000, 4550, "stall(c1,m0+m1+m2,both,550ms)")
			s.readsIt("c0", "b", 20, 4900, 5000, 6000).leaves(5700, 5710, 0)
			s.readsIt("c1", "b", 20, 5450, 5460, 5900).leaves(5500, 5510, 0)
			s.holds("c2", "b", 22, 5010, 5720, 6000).leaves(5800, 5810, 0)
		}},
		{"a writer comes before a writer that waits", func(s *story) {
			s.holds("c1", "b", 22, 5450, 5460, 5900).leaves(5500, 5510, 0)
			s.holds("c2", "b", 24, 5010, 5720, 6000).leaves(5800, 5810, 0)
		}},
		{"a reader comes before a reader that waits", func(s *story) {
			s.readsIt("c1", "b", 20, 5450, 5460, 5900).leaves(5500, 5510, 0)
			s.readsIt("c2", "b", 20, 5010, 5505, 6000).leaves(5800, 5810, 0)
		}},
		{"a reader comes before a writer that waits, in a fault", func(s *story) {
			s.fault(5300, 5400, "script-flush(m0)")
			s.readsIt("c0", "b", 20, 4900, 5000, 6000).leaves(5700, 5710, 0)
			s.readsIt("c1", "b", 20, 5450, 5460, 5900).leaves(5500, 5510, 0)
			s.holds("c2", "b", 22, 5010, 5720, 6000).leaves(5800, 5810, 0)
		}},
		{"the lock of a reader that died is held by another reader", func(s *story) {
			s.readsIt("c0", "b", 20, 4980, 4990, 8000).leaves(7000, 7010, 0)
			s.readsIt("c3", "b", 20, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.fails("c1", "b", false, 6500, 6510, history.ErrHeld)
		}},
		{"a reader is refused while others read and one asks to write", func(s *story) {
			s.readsIt("c0", "p", 20, 4000, 4010, 6000).leaves(5800, 5810, 0)
			s.fails("c2", "p", true, 5000, 5600, history.ErrHeld)
			s.triesToRead("c1", "p", 5500, 5510, history.ErrHeld)
		}},
		{"a try to read is refused while one writes", func(s *story) {
			s.holds("c0", "p", 20, 4000, 4010, 6000).leaves(5800, 5810, 0)
			s.triesToRead("c1", "p", 5500, 5510, history.ErrHeld)
		}},
		{"a try to write is refused while one asks to read", func(s *story) {
			s.fails("c1", "p", false, 5500, 5510, history.ErrHeld)
			s.fails("c0", "p", true, 5400, 5700, history.ErrCanceled)
			s.events[len(s.events)-2].Reads = true
		}},
		{"a try to write is refused while others read", func(s *story) {
			s.readsIt("c0", "p", 20, 4000, 4010, 6000).leaves(5800, 5810, 0)
			s.fails("c1", "p", false, 5500, 5510, history.ErrHeld)
		}},
		{"the calls of a reader that is killed do not end", func(s *story) {
			s.holds("c3", "d", 22, 5000, 5010, 5400).downgrades(5020, 0, "")
			s.client(5030, history.ClientKilled, "c3")
		}},
	})
}

// What readers do is counted; outside of the fault model their claims overlap those of writers.
func TestReadersAreCounted(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.phase(0, history.InModel)
	s.members(0, "m0+m1+m2+m3+m4")
	one := s.readsIt("c0", "b", 20, 5000, 5010, 5400)
	one.upgrades(0, 5020, 5020, history.ErrUpgrade)
	s.readsIt("c1", "b", 20, 5020, 5030, 5400).leaves(5200, 5210, 0)
	one.downgrades(5030, 5040, "")
	one.leaves(5300, 5310, 0)
	writer := s.holds("c1", "b", 22, 5300, 5320, 5700)
	writer.downgrades(5325, 5328, history.ErrNoQuorum)
	writer.downgrades(5330, 5340, "")
	s.readsIt("c0", "b", 22, 5330, 5350, 5700).leaves(5360, 5370, 0)
	writer.leaves(5370, 5380, 0)
	s.readsIt("c3", "b", 22, 9000, 9010, 9400)
	s.client(9100, history.ClientKilled, "c3")
	s.phase(10_000, history.OutOfModel)
	s.readsIt("c0", "b", 22, 10_000, 10_010, 10_400).leaves(10_200, 10_210, 0)
	s.readsIt("c1", "b", 22, 10_000, 10_010, 10_400).leaves(10_150, 10_160, 0)
	s.holds("c2", "b", 24, 10_100, 10_110, 10_500).leaves(10_300, 10_310, 0)
	v := All(s.sorted(), testBounds)
	for _, violation := range v.Violations {
		t.Error(violation)
	}
	if v.LongestTakeover != 0 {
		t.Errorf("a reader took over from one after %v", v.LongestTakeover)
	}
	if v.Reads != 6 || v.Shared != 3 || v.Downgrades != 1 || v.Upgrades != 1 || v.Overlaps != 1 {
		t.Errorf("counted %d reads, %d shared, %d downgrades, %d upgrades and %d overlaps, want 6, 3, 1, 1 and 1",
			v.Reads, v.Shared, v.Downgrades, v.Upgrades, v.Overlaps)
	}
	beginningsPass(t, s.sorted())
}
