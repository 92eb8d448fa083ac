package check

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

var testBounds = Bounds{
	Told:       100 * ms,
	Late:       50 * ms,
	Patience:   5000 * ms,
	Hung:       1000 * ms,
	Outlive:    1000 * ms,
	GiveBack:   400 * ms,
	Recovery:   2000 * ms,
	Silent:     300 * ms,
	Quarantine: 1000 * ms,
	Calm:       50 * ms,
	Busy:       20 * ms,
	Grace:      500 * ms,
	Decide:     10 * time.Second,
}

// strict are the bounds of a machine that is never late.
func strict() Bounds {
	b := testBounds
	b.Told, b.Late, b.Calm, b.Busy = 0, 0, 0, 0
	return b
}

const (
	guardedStore = history.RedisGuarded
	end          = 60_000 // of every story
)

// good is a history in which all went well: within the fault model until 10 s, outside of it until
// 20 s, healed from there on.
func good() *story {
	s := &story{}
	s.phase(0, history.InModel)
	s.members(0, "m0+m1+m2+m3+m4")
	// One after the other, the second waiting meanwhile.
	first := s.holds("c0", "a", 10, 10, 20, 400)
	s.writes("c0", guardedStore, "a", 10, 1, 30, 40, "")
	s.reads("c0", guardedStore, "a", 10, 1, 50, 60, "")
	again := first.reenters(70, 80, 470, 2)
	first.renewed(200, 590)
	again.leaves(300, 310, 1)
	first.leaves(500, 510, 0)
	second := s.holds("c1", "a", 12, 100, 505, 900)
	second.told(901)
	second.leaves(950, 960, 0)
	s.fails("c2", "a", false, 600, 610, history.ErrHeld)
	// One that dies holding, and one that is stopped past its lease: what it then writes is
	// refused, and the unguarded store takes it.
	s.holds("c3", "a", 14, 1000, 1010, 1400)
	s.client(1100, history.ClientKilled, "c3")
	stopped := s.holds("c2", "a", 16, 1300, 1500, 1900)
	s.client(1600, history.ClientStopped, "c2")
	third := s.holds("c1", "a", 18, 1700, 2000, 2400)
	s.writes("c1", guardedStore, "a", 18, 2, 2010, 2020, "")
	s.writes("c1", history.Unguarded, "a", 18, 3, 2030, 2040, "")
	s.client(2100, history.ClientGoesOn, "c2")
	s.writes("c2", guardedStore, "a", 16, 4, 2110, 2120, history.ErrRefused)
	s.writes("c2", history.Unguarded, "a", 16, 5, 2130, 2140, "") // no proof: it was told
	stopped.told(2110)
	stopped.leaves(2150, 2160, 0)
	s.reads("c1", history.Unguarded, "a", 18, 5, 2200, 2210, "")
	s.reads("c0", guardedStore, "a", 0, 2, 2220, 2230, "")
	third.leaves(2250, 2260, 0)
	// Renewals that brought too few votes each added up: the hold was longer than they said.
	longer := s.holds("c0", "rare", 19, 2300, 2310, 2400)
	longer.add(2800, history.Event{Kind: history.Told, Err: history.ErrExpired, Until: 2800 * ms})
	longer.leaves(2810, 2820, 0)
	// An unknown outcome: the write comes late, or never.
	fourth := s.holds("c1", "a", 20, 3000, 3010, 3400)
	s.writes("c1", guardedStore, "a", 20, 6, 3020, 3030, history.ErrUnknown)
	s.reads("c0", guardedStore, "a", 0, 2, 3040, 3050, "")
	s.reads("c0", guardedStore, "a", 0, 6, 3060, 3070, "")
	fourth.leaves(3100, 3110, 0)
	// A renewed hold, which ends by its unlock.
	calm := s.renews("c0", "calm", 23, 4000, 4010, 4400)
	calm.renewed(4390, 4790)
	calm.leaves(4700, 4710, 0)
	// A name that nobody asks for when all is healed.
	s.holds("c0", "rare", 21, 3200, 3210, 3600).leaves(3220, 3230, 0)

	s.phase(10_000, history.OutOfModel)
	s.fault(10_050, 12_050, "clock(m0+m1+m2,5s,2s)")
	one := s.holds("c0", "a", 30, 10_100, 10_110, 10_500)
	other := s.holds("c1", "a", 32, 10_200, 10_210, 10_600)
	s.writes("c1", history.Unguarded, "a", 32, 7, 10_220, 10_230, "")
	s.writes("c0", history.Unguarded, "a", 30, 8, 10_240, 10_250, "")
	one.leaves(10_300, 10_310, 0)
	other.leaves(10_350, 10_360, 0)

	s.phase(20_000, history.Healed)
	s.holds("c0", "a", 34, 20_500, 20_510, 20_900).leaves(20_800, 20_810, 0)
	s.client(end, history.ClientStarts, "c3")
	return s
}

func TestGoodHistory(t *testing.T) {
	t.Parallel()
	v := All(good().sorted(), testBounds)
	for _, violation := range v.Violations {
		t.Error(violation)
	}
	if missing := v.Missing(); missing != "" {
		t.Error(missing)
	}
	want := Counts{
		Operations: 39, Holds: 12, HeldInModel: 9, Calm: 1, Alone: 3, Reentries: 1, Renewals: 2, Failed: 1, ToldOf: 3, Killed: 1, Overlaps: 1, Refused: 1,
		Stale: 1, LostUpdates: 1, Unknown: 1, Faults: 1, Linearized: v.Linearized,
		FaultsByKind: map[string]int{"clock": 1}, FailedByKind: map[string]int{},
		LongestWait: 405 * ms, LongestRelock: 10 * ms, LongestTakeover: 100 * ms,
	}
	if got := v.Counts; !reflect.DeepEqual(got, want) {
		t.Errorf("counted %+v\nwant    %+v", got, want)
	}
	if v.Linearized < 20 {
		t.Errorf("Porcupine was given %d operations", v.Linearized)
	}
}

// Every rule catches what breaks it, and says who and when; times are such that the good part of
// the history is over, or on another name.
func TestBadHistories(t *testing.T) {
	t.Parallel()
	refuseAll(t, []badHistory{
		{"two hold at a time", func(s *story) {
			s.holds("c0", "a", 22, 5000, 5010, 5400).leaves(5300, 5310, 0)
			s.holds("c1", "a", 24, 5100, 5110, 5500).leaves(5310, 5320, 0)
		}, Exclusion, "c0 held it with token 22 until 5.3s, and was not told before; c1 held it with token 24 from 5.11s"},
		{"a renewal keeps a hold that another has taken", func(s *story) {
			h := s.holds("c0", "a", 22, 5000, 5010, 5400)
			h.renewed(5200, 5600)
			s.holds("c1", "a", 24, 5400, 5500, 5800).leaves(5700, 5710, 0)
			h.leaves(5550, 5560, 0)
		}, Exclusion, "until 5.55s"},
		{"a hold was longer than its renewals said", func(s *story) {
			h := s.holds("c0", "a", 22, 5000, 5010, 5400)
			s.holds("c1", "a", 24, 5400, 5500, 5520).leaves(5510, 5515, 0)
			h.add(5600, history.Event{Kind: history.Told, Err: history.ErrExpired, Until: 5600 * ms})
			h.leaves(5650, 5660, 0)
		}, Exclusion, "until 5.6s"},
		{"a dead holder's lease is not over", func(s *story) {
			s.holds("c3", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5020, 5030, 5100).leaves(5035, 5036, 0)
			s.client(5050, history.ClientKilled, "c3")
		}, Exclusion, "until 5.05s"},
		{"overlap long after all was healed", func(s *story) {
			s.holds("c0", "a", 42, 30_000, 30_010, 30_400).leaves(30_300, 30_310, 0)
			s.holds("c1", "a", 44, 30_100, 30_110, 30_500).leaves(30_310, 30_320, 0)
		}, Exclusion, "c1 held it with token 44"},
		{"a token twice", func(s *story) {
			s.holds("c0", "a", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.holds("c1", "a", 22, 5005, 5110, 5500).leaves(5120, 5130, 0)
		}, Tokens, "token 22 was had by c0 at 5.01s, and again by c1 at 5.11s"},
		{"a token that goes back", func(s *story) {
			s.holds("c0", "a", 26, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.holds("c1", "a", 24, 5100, 5110, 5500).leaves(5120, 5130, 0)
		}, Tokens, "c1 asked at 5.1s and got token 24, but c0 had got 26 at 5.01s already"},
		{"a token that goes back out of the model", func(s *story) {
			s.holds("c0", "a", 33, 11_000, 11_010, 11_400).leaves(11_020, 11_030, 0)
			s.holds("c1", "a", 31, 11_100, 11_110, 11_500).leaves(11_120, 11_130, 0)
		}, Tokens, "got token 31"},
		{"a holder is not told", func(s *story) {
			s.holds("c0", "a", 22, 5000, 5010, 5400).leaves(6000, 6010, 0)
		}, Told, "ended at 5.4s, and its entry 1 was not told until 6.01s"},
		{"a holder is not told, and dies long after", func(s *story) {
			s.renews("c0", "a", 22, 5000, 5010, 5400)
			s.client(6500, history.ClientKilled, "c0")
		}, Told, "ended at 5.4s, and its entry 1 was not told until"},
		{"one of its entries is not told", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			again := h.reenters(5020, 5030, 5400, 2)
			h.told(5401)
			again.leaves(6000, 6010, 1)
			h.leaves(6020, 6030, 0)
		}, Told, "its entry 2 was not told until 6.01s"},
		{"a holder is told long after another has the lock", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5410, 5900).leaves(5895, 5899, 0)
			h.told(5880)
			h.leaves(5890, 5900, 0)
		}, Exclusion, "c0 held it with token 22 until 5.88s, and was not told before; c1 held it with token 24 from 5.41s"},
		{"one of the entries is told long after another has the lock", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			again := h.reenters(5020, 5030, 5400, 2)
			s.holds("c1", "b", 24, 5100, 5410, 5900).leaves(5480, 5485, 0)
			h.told(5401)
			again.told(5490)
			again.leaves(5490, 5500, 1)
			h.leaves(5510, 5520, 0)
		}, Exclusion, "until 5.49s"},
		{"a holder goes on after a stop, and is told long after", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.client(5300, history.ClientStopped, "c0")
			s.client(5500, history.ClientGoesOn, "c0")
			s.holds("c1", "b", 24, 5100, 5510, 5900).leaves(5600, 5610, 0)
			h.told(5590)
			h.leaves(5595, 5600, 0)
		}, Exclusion, "until 5.59s"},
		{"a holder that was never told, and another", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5900, 5910, 6300).leaves(5920, 5930, 0)
		}, Exclusion, "until 1m0s"},
		{"a holder that was not told writes after a newer one", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5110, 5500).leaves(5300, 5310, 0)
			s.writes("c1", history.Unguarded, "b", 24, 101, 5120, 5130, "")
			s.writes("c0", history.Unguarded, "b", 22, 102, 5140, 5150, "")
			h.leaves(5310, 5320, 0)
		}, Stale, "c0 came at 5.14s with token 22 and was not told yet that its hold was over, although c1 had been with 24 at 5.13s"},
		{"a holder that was not told is refused", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5110, 5500).leaves(5300, 5310, 0)
			s.writes("c1", guardedStore, "b", 24, 101, 5120, 5130, "")
			s.writes("c0", guardedStore, "b", 22, 102, 5140, 5150, history.ErrRefused)
			h.leaves(5310, 5320, 0)
		}, Stale, "c0 came at 5.14s with token 22"},
		{"a renewed hold is lost in calm", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5410)
			h.renewed(5390, 5790)
			h.told(5700)
			h.leaves(5710, 5720, 0)
		}, Lost, "the hold of c0 with token 22 was renewed, and its holder was told that it is over at 5.7s; a quorum was there for it and unhurt since 5.25s"},
		{"a renewed hold ends in calm, and nobody is told", func(s *story) {
			s.renews("c0", "b", 22, 5000, 5010, 5410).leaves(5600, 5610, 0)
		}, Lost, "its lease ended at 5.41s"},
		{"an unlock finds in calm that a renewed hold is lost", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5410)
			h.leavesWith(5300, 5310, 0, history.ErrLost)
		}, Lost, "its unlock found it lost at 5.31s"},
		{"a renewed hold is lost because of a minority", func(s *story) {
			s.fault(4900, 5800, "freeze(m1+m3,900ms)")
			h := s.renews("c0", "b", 22, 5000, 5010, 5410)
			h.told(5410)
			h.leaves(5420, 5430, 0)
		}, Lost, "unhurt since 4.96s"},
		{"a renewed hold is lost beside a master that was out of reach after it voted again", lostBeside(func(s *story) {
			s.fault(2500, 2500, "flushall(m1)")
			s.fault(3600, 3900, "freeze(m1,300ms)")
			s.fault(4900, 5800, "freeze(m2+m3,900ms)")
		}), Lost, "unhurt since 4.96s"},
		{"a renewed hold is lost beside a master that sat out when another one was out of reach", lostBeside(func(s *story) {
			s.fault(3900, 3900, "flushall(m1)")
			s.fault(4500, 4550, "freeze(m4,50ms)")
			s.fault(4900, 5800, "freeze(m2+m3,900ms)")
		}), Lost, "unhurt since 4.96s"},
		{"a renewed hold is lost beside a master that was seen to vote before another one lost its data", lostBeside(func(s *story) {
			s.fault(3000, 3000, "flushall(m1)")
			s.members(3970, "m0+m1+m2+m3+m4")
			s.fault(3980, 3980, "flushall(m4)")
			s.fault(4900, 5800, "freeze(m2,900ms)")
		}), Lost, "unhurt since 4.96s"},
		{"a renewed hold is lost because others cannot reach its masters", func(s *story) {
			s.fault(4900, 5800, "partition(c1+c2,m1+m3+m4,both,900ms)")
			h := s.renews("c0", "b", 22, 5000, 5010, 5410)
			h.told(5410)
			h.leaves(5420, 5430, 0)
		}, Lost, "unhurt since 4.96s"},
		{"a renewed hold is lost because of one master, and another one on which a rival may have left something", func(s *story) {
			s.fault(4900, 5800, "freeze(m1,900ms)")
			lostBesideARival("partition(c1,m4,both,900ms)", "b")(s)
		}, Lost, "unhurt since 4.96s"},
		{"a renewed hold is lost with two masters, and another client left nothing", func(s *story) {
			s.fault(4900, 5800, "freeze(m1+m3,900ms)")
			lostBesideARival("partition(c1,m4,both,900ms)", "d")(s)
		}, Lost, "unhurt since 4.96s"},
		{"a renewed hold is lost beside a rival that died", lostBesideARival("kill-client(c1,900ms)", "b"), Lost, "unhurt since 4.96s"},
		{"a renewed hold is lost when the members are known again", func(s *story) {
			s.fault(4100, 4200, "replace(m1,m5,0s,0s)")
			s.members(5300, "m0+m5+m2+m3+m4")
			s.fault(5300, 6700, "freeze(m2+m3,1s)")
			h := s.renews("c0", "b", 22, 6000, 6010, 6410)
			h.told(6410)
			h.leaves(6420, 6430, 0)
		}, Lost, "unhurt since 5.96s"},
		{"a stale write is let in", func(s *story) {
			s.writes("c0", guardedStore, "b", 24, 101, 5000, 5010, "")
			s.writes("c1", guardedStore, "b", 22, 102, 5020, 5030, "")
		}, Fence, "c1 came at 5.02s with token 22 and was let in, although c0 had been with 24 at 5.01s"},
		{"a stale write is let in after a claim alone", func(s *story) {
			s.reads("c0", guardedStore, "b", 24, 0, 5000, 5010, "")
			s.writes("c1", guardedStore, "b", 22, 102, 5020, 5030, "")
		}, Fence, "although c0 had been"},
		{"the newest is refused", func(s *story) {
			s.writes("c0", guardedStore, "b", 24, 101, 5000, 5010, "")
			s.writes("c1", guardedStore, "b", 26, 102, 5020, 5030, history.ErrRefused)
		}, Fence, "c1 was refused with token 26"},
		{"an acknowledged write is lost", func(s *story) {
			s.writes("c0", guardedStore, "b", 24, 101, 5000, 5010, "")
			s.writes("c0", guardedStore, "b", 24, 102, 5020, 5030, "")
			s.reads("c1", guardedStore, "b", 0, 101, 5040, 5050, "")
		}, Kept, "the write of 102 by c0 was acknowledged at 5.03s, and c1 read an older value"},
		{"all is lost", func(s *story) {
			s.writes("c0", guardedStore, "b", 24, 101, 5000, 5010, "")
			s.reads("c1", guardedStore, "b", 0, 0, 5040, 5050, "")
		}, Kept, "read nothing"},
		{"a value out of nowhere", func(s *story) {
			s.reads("c1", guardedStore, "b", 0, 77, 5040, 5050, "")
		}, Kept, "read 77, which nobody wrote"},
		{"a refused write is there", func(s *story) {
			s.writes("c0", guardedStore, "b", 24, 101, 5000, 5010, "")
			s.writes("c1", guardedStore, "b", 22, 102, 5020, 5030, history.ErrRefused)
			s.reads("c1", guardedStore, "b", 0, 102, 5040, 5050, "")
		}, Kept, "the write of which was refused"},
		{"a renewed hold is lost soon after members were changed, who are seen to vote", func(s *story) {
			s.fault(4000, 4600, "suspend(m1+m2,0s,600ms)")
			s.members(4600, "m0+m1+m2+m3+m4")
			h := s.renews("c0", "b", 22, 5000, 5010, 5410)
			h.told(5410)
			h.leaves(5420, 5430, 0)
		}, Lost, "unhurt since 4.96s"},
		{"a waiter starves", func(s *story) {
			s.fails("c2", "a", true, 4000, 9100, history.ErrHeld)
		}, Starvation, "c2 waited for it from 4s to 9.1s"},
		{"a call hangs", func(s *story) {
			s.fails("c2", "a", false, 30_000, 0, "")
		}, Starvation, "hangs"},
		{"a waiter gets nothing, whatever it is told, and others do", func(s *story) {
			s.fails("c2", "b", true, 4000, 9100, history.ErrNoQuorum)
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
		}, Starvation, "c2 waited for it from 4s to 9.1s, and was told at last: no quorum; c0 asked at 5s and got it at 5.01s"},
		{"a waiter reaches a quorum, and gets nothing", func(s *story) {
			s.fault(3900, 9200, "partition(c2,m0+m1,both,6s)")
			s.fails("c2", "b", true, 4000, 9100, history.ErrTooSlow)
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
		}, Starvation, "c2 waited for it from 4s to 9.1s, and was told at last: too slow"},
		{"a call that began out of the model hangs", func(s *story) {
			s.fails("c2", "a", true, 19_000, 0, "")
		}, Starvation, "the call of c2 at 19s hangs: it took 40s and more"},
		{"a call has not ended when all is over", func(s *story) {
			s.fails("c2", "a", false, end-100, 0, "")
		}, Starvation, "the call of c2 at 59.9s hangs: it took 100ms and more"},
		{"an unlock hangs", func(s *story) {
			s.holds("c2", "b", 36, 30_000, 30_010, 30_400).add(30_020, history.Event{Kind: history.UnlockBegins})
		}, Starvation, "the unlock of c2 at 30.02s hangs"},
		{"a write hangs", func(s *story) {
			s.add(30_000, history.Event{Kind: history.WriteBegins, Client: "c2", Call: 99, Name: "b", Store: guardedStore, Token: 9, Value: 9})
		}, Starvation, "the access of c2 at 30s hangs"},
		{"a try takes as long as a waiter may", func(s *story) {
			s.fails("c2", "a", false, 30_000, 34_000, history.ErrNoQuorum)
		}, Starvation, "the call of c2 at 30s hangs: it took 4s and more"},
		{"a lock outlives its owner", func(s *story) {
			s.holds("c3", "b", 22, 5000, 5010, 5400)
			s.client(5050, history.ClientKilled, "c3")
			s.fails("c0", "b", false, 6500, 6510, history.ErrHeld)
			s.holds("c0", "b", 24, 7000, 7010, 7400).leaves(7020, 7030, 0)
			s.holds("c0", "b", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Outlived, "c3 died at 5.05s and its lease with token 22 ended at 5.4s; c0 asked at 6.5s, alone, and was told that it is held"},
		{"a lock outlives its unlock", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6000).leaves(5020, 5030, 0)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
			s.holds("c0", "p", 24, 7000, 7010, 7400).leaves(7020, 7030, 0)
			s.holds("c0", "p", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Leftover, "p: c0 was told at 5.51s that it is held; nobody had it or asked for it since 5.1s, and there was no fault"},
		{"a lock outlives its unlock, and a late copy was another's", func(s *story) {
			s.fault(4900, 5050, "late-copy(c1,m0+m1+m2,20ms,1,150ms)")
			s.renews("c0", "p", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
			s.holds("c0", "p", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Leftover, "p: c0 was told at 5.51s that it is held"},
		{"a lock outlives its unlock, and a late copy of it has expired", func(s *story) {
			s.fault(4900, 5050, "late-copy(c0,m0+m1+m2,20ms,1,150ms)")
			s.renews("c0", "p", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fails("c0", "p", false, 5850, 5860, history.ErrHeld)
			s.holds("c0", "p", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Leftover, "p: c0 was told at 5.86s that it is held"},
		{"an attempt that failed leaves its lock", func(s *story) {
			s.fails("c0", "p", false, 5000, 5010, history.ErrNoQuorum)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
			s.holds("c0", "p", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Leftover, "p: c0 was told at 5.51s that it is held"},
		{"a lock that nobody has cannot be had", func(s *story) {
			s.holds("c0", "p", 22, 5000, 5010, 6000).leaves(5020, 5030, 0)
			s.fails("c0", "p", false, 5500, 5510, history.ErrNoQuorum)
			s.holds("c0", "p", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Leftover, "p: c0 tried to get it at 5.5s and was told: no quorum; nobody had it or asked for it since 5.1s, and a quorum was unhurt"},
		{"a lock that nobody has cannot be had, and a quorum answered since a try took long", func(s *story) {
			s.fails("c1", "q", false, 4010, 4040, history.ErrNoQuorum)
			s.holds("c1", "r", 22, 5000, 5010, 6000).leaves(5020, 5030, 0)
			s.fails("c0", "p", false, 5500, 5500, history.ErrNoQuorum)
		}, Leftover, "p: c0 tried to get it at 5.5s"},
		{"a client asked in vain, and is killed long after", func(s *story) {
			s.fails("c3", "p", false, 5000, 5010, history.ErrCanceled, time.Second)
			s.client(5450, history.ClientKilled, "c3")
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		}, Leftover, "p: c0 was told at 5.51s that it is held"},
		{"a name stays locked", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fails("c1", "b", false, 20_500, 20_510, history.ErrHeld)
			s.fails("c1", "b", false, 23_000, 23_010, history.ErrHeld)
		}, Recovery, "b: all faults ended at 20s, it was asked for at 20.5s, and nobody could lock it within 2s"},
		{"somebody waits for a name until after the bound, and is canceled", func(s *story) {
			s.fails("c1", "b", true, 20_500, 23_010, history.ErrCanceled)
		}, Recovery, "b: all faults ended at 20s, it was asked for at 20.5s, and nobody could lock it within 2s"},
		{"a re-entry after another had it", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.told(5401)
			s.holds("c1", "b", 24, 5410, 5420, 5800).leaves(5430, 5440, 0)
			h.reenters(5450, 5460, 5400, 2).leaves(5470, 5480, 1)
			h.leaves(5490, 5500, 0)
			s.holds("c0", "b", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Linear, "somebody re-enters with token 22 and depth 2 (from 5.45s to 5.46s) cannot be explained"},
		{"reads that no order explains", func(s *story) {
			s.writes("c0", guardedStore, "b", 24, 101, 5000, 5100, "")
			s.writes("c1", guardedStore, "b", 24, 102, 5000, 5100, "")
			s.reads("c2", guardedStore, "b", 0, 101, 5110, 5120, "")
			s.reads("c2", guardedStore, "b", 0, 102, 5130, 5140, "")
		}, Linear, "the read of 102 by c2"},
		{"a refusal for which the other was too late", func(s *story) {
			s.writes("c0", guardedStore, "b", 22, 101, 5000, 5100, history.ErrRefused)
			s.writes("c1", guardedStore, "b", 24, 102, 5010, 5200, "")
			s.reads("c2", guardedStore, "b", 0, 0, 5120, 5130, "")
		}, Linear, "cannot be explained"},
		{"an unlock of nothing", func(s *story) {
			heldLock{s, "c0", 99, "a", 9}.leaves(5000, 5010, 0)
		}, BrokenRecord, "nothing is held by that call"},
		{"the end of a fault that did not begin", func(s *story) {
			s.add(5000, history.Event{Kind: history.FaultEnds, Fault: "thaw(m0)"})
		}, BrokenRecord, "no such fault is under way"},
		{"a fault that is none", func(s *story) { s.fault(5000, 5010, "melt(m0)") }, BrokenRecord, "there is no kind"},
		{"an answer to nothing", func(s *story) {
			heldLock{s, "c0", 99, "a", 9}.add(5000, history.Event{Kind: history.LockHeld})
		}, BrokenRecord, "no call for that lock is under way"},
		{"a write that never began", func(s *story) {
			s.add(5000, history.Event{Kind: history.WriteEnds, Client: "c0", Call: 99, Name: "a", Store: guardedStore})
		}, BrokenRecord, "no such access is under way"},
		{"a holder is stopped for a moment when its lease ends, and is not told after it goes on", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.client(5450, history.ClientStopped, "c0")
			s.client(5460, history.ClientGoesOn, "c0")
			h.leaves(5570, 5580, 0)
		}, Told, "ended at 5.4s, and its entry 1 was not told until 5.58s"},
		{"a holder is stopped twice, and is not told after it goes on", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.client(5300, history.ClientStopped, "c0")
			s.client(5450, history.ClientGoesOn, "c0")
			s.client(5540, history.ClientStopped, "c0")
			s.client(5600, history.ClientGoesOn, "c0")
			h.told(5701)
			h.leaves(5710, 5720, 0)
		}, Told, "was not told until 5.701s"},
		{"an unlock hangs until its client is killed", func(s *story) {
			s.holds("c3", "d", 22, 5000, 5010, 5400).add(5020, history.Event{Kind: history.UnlockBegins})
			s.client(6021, history.ClientKilled, "c3")
		}, Starvation, "the unlock of c3 at 5.02s hangs: it took 1.001s and more"},
		{"a downgrade hangs until its client is killed", func(s *story) {
			s.holds("c3", "d", 22, 5000, 5010, 9400).downgrades(5020, 0, "")
			s.client(6021, history.ClientKilled, "c3")
		}, Starvation, "the downgrade of c3 at 5.02s hangs: it took 1.001s and more"},
		{"a lock outlives its unlock, beside a fault of one master", func(s *story) {
			s.fault(5450, 5550, "script-flush(m0)")
			s.holds("c0", "p", 22, 5000, 5010, 6000).leaves(5020, 5030, 0)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		}, Leftover, "p: c0 was told at 5.51s that it is held; nobody had it or asked for it since 5.1s, and a quorum was unhurt"},
		{"a lock outlives its unlock, beside a client that is cut off", func(s *story) {
			s.fault(4000, 6000, "partition(c3,m0+m1+m2+m3+m4,both,2s)")
			s.holds("c0", "p", 22, 5000, 5010, 6000).leaves(5020, 5030, 0)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		}, Leftover, "p: c0 was told at 5.51s that it is held"},
		{"a lock that nobody has cannot be had, beside one master that is hurt and one on which it may have been left", func(s *story) {
			s.fault(4950, 5040, "partition(c1,m1,both,90ms)")
			s.renews("c1", "p", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fault(5450, 5550, "freeze(m0,100ms)")
			s.fails("c0", "p", false, 5500, 5510, history.ErrTooSlow)
		}, Leftover, "p: c0 tried to get it at 5.5s and was told: too slow"},
		{"a lock outlives its unlock, and where it may have been left it has expired", func(s *story) {
			s.fault(4950, 5040, "partition(c1,m1+m2+m3,both,90ms)")
			s.renews("c1", "p", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fails("c0", "p", false, 6300, 6310, history.ErrHeld)
		}, Leftover, "p: c0 was told at 6.31s that it is held"},
		{"a waiter alone is told that others hold it, beside a fault of one master", func(s *story) {
			s.fault(5450, 5550, "script-flush(m0)")
			s.holds("c0", "p", 22, 5000, 5010, 6000).leaves(5020, 5030, 0)
			s.fails("c0", "p", true, 5500, 5510, history.ErrHeld)
		}, Leftover, "p: c0 was told at 5.51s that it is held"},
	})
}

// mustRefuse tells the good history and something bad, by which a rule must be violated.
func mustRefuse(t *testing.T, tell func(s *story), rule, says string) {
	t.Helper()
	s := good()
	tell(s)
	violations := All(s.sorted(), testBounds).Violations
	if !slices.ContainsFunc(violations, func(v Violation) bool { return v.Rule == rule && strings.Contains(v.String(), says) }) {
		t.Errorf("found %q\nwant %s: … %s …", violations, rule, says)
	}
}

// badHistory is one that a rule must refuse, and goodHistory one that must pass: each is told
// beside the good history.
type (
	badHistory struct {
		name string
		tell func(s *story)
		rule string
		says string
	}
	goodHistory struct {
		name string
		tell func(s *story)
	}
)

func refuseAll(t *testing.T, all []badHistory) {
	for _, h := range all {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, h.tell, h.rule, h.says)
		})
	}
}

// toldHistory is a badHistory of a table that is about one rule.
type toldHistory struct {
	name string
	tell func(s *story)
	says string
}

func refuseAllBy(t *testing.T, rule string, all []toldHistory) {
	for _, h := range all {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, h.tell, rule, h.says)
		})
	}
}

func passAll(t *testing.T, all []goodHistory) {
	for _, h := range all {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			mustPass(t, h.tell)
		})
	}
}

// mustPass tells the good history and something that is as good.
func mustPass(t *testing.T, tell func(s *story)) {
	t.Helper()
	s := good()
	tell(s)
	for _, violation := range All(s.sorted(), testBounds).Violations {
		t.Error(violation)
	}
}

// beginningsPass demands that no beginning of the history violates anything.
func beginningsPass(t *testing.T, events []history.Event) {
	t.Helper()
	for n := range events {
		for _, violation := range Sweep(events[:n], testBounds).Violations {
			t.Errorf("after %d events: %v", n, violation)
		}
	}
}

// What may happen is no violation, beside the good history. Each is like one that is refused, but
// for what excuses it.
func TestHistoriesThatPass(t *testing.T) {
	t.Parallel()
	passAll(t, []goodHistory{
		{"a lock outlives its unlock, for a late copy of its request was granted", func(s *story) {
			s.fault(4900, 5050, "late-copy(c0,m0+m1+m2,20ms,1,150ms)")
			s.renews("c0", "p", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
			s.holds("c0", "p", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}},
		{"a holder is told a little late", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5410, 5800).leaves(5500, 5510, 0)
			h.told(5440)
			h.leaves(5450, 5460, 0)
		}},
		{"a holder is told long after, and then another has the lock", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.told(5490)
			s.holds("c1", "b", 24, 5100, 5500, 5800).leaves(5510, 5520, 0)
			h.leaves(5530, 5540, 0)
		}},
		{"a holder is stopped while its lease ends", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.client(5300, history.ClientStopped, "c0")
			s.holds("c1", "b", 24, 5100, 5510, 5900).leaves(5600, 5610, 0)
			s.client(5800, history.ClientGoesOn, "c0")
			h.told(5810)
			h.leaves(5820, 5830, 0)
		}},
		{"an entry is left before the lease ends", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.reenters(5020, 5030, 5400, 2).leaves(5100, 5110, 1)
			s.holds("c1", "b", 24, 5100, 5410, 5800).leaves(5500, 5510, 0)
			h.told(5401)
			h.leaves(5450, 5460, 0)
		}},
		{"a renewal is seen when an entry is left", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5400)
			again := h.reenters(5020, 5030, 5400, 2)
			h.add(5300, history.Event{Kind: history.UnlockBegins, Depth: 1})
			h.add(5310, history.Event{Kind: history.UnlockEnds, Depth: 1, Until: 5700 * ms})
			again.leaves(5690, 5695, 0)
		}},
		{"a lease that was renewed in part is seen when it is given back", func(s *story) {
			h := s.renews("c0", "b", 22, 5000, 5010, 5400)
			h.add(6100, history.Event{Kind: history.UnlockBegins, Until: 6200 * ms})
			h.add(6110, history.Event{Kind: history.UnlockEnds})
		}},
		{"a client ends its own work, and leaves after the lease", func(s *story) {
			h := s.renews("c4", "b", 22, 5000, 5010, 5400)
			h.add(5100, history.Event{Kind: history.Told, Err: history.ErrCanceled})
			h.renewed(5200, 5600)
			h.leaves(5590, 5600, 0)
		}},
		{"a stale write of a holder that was told", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5410, 5800).leaves(5500, 5510, 0)
			s.writes("c1", history.Unguarded, "b", 24, 101, 5412, 5414, "")
			h.told(5416)
			s.writes("c0", history.Unguarded, "b", 22, 102, 5420, 5430, "")
			h.leaves(5450, 5460, 0)
		}},
		{"a stale write of a client that was stopped", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.client(5300, history.ClientStopped, "c0")
			s.holds("c1", "b", 24, 5100, 5510, 5900).leaves(5600, 5610, 0)
			s.writes("c1", history.Unguarded, "b", 24, 101, 5520, 5530, "")
			s.client(5800, history.ClientGoesOn, "c0")
			s.writes("c0", history.Unguarded, "b", 22, 102, 5802, 5804, "")
			h.told(5810)
			h.leaves(5820, 5830, 0)
		}},
		{"a stale write of a client that is killed", func(s *story) {
			s.holds("c3", "b", 22, 5000, 5010, 5400)
			s.add(5100, history.Event{Kind: history.WriteBegins, Client: "c3", Call: 99, Name: "b", Store: history.Unguarded, Token: 22, Value: 102})
			s.client(5110, history.ClientKilled, "c3")
			s.holds("c1", "b", 24, 5100, 5410, 5800).leaves(5500, 5510, 0)
			s.writes("c1", history.Unguarded, "b", 24, 101, 5420, 5430, "")
			s.reads("c1", history.Unguarded, "b", 24, 102, 5440, 5450, "")
		}},
		{"a waiter gets nothing, and nobody else does", func(s *story) {
			s.holds("c0", "b", 22, 3980, 4100, 4400).leaves(4200, 4210, 0)
			s.fails("c2", "b", true, 4000, 9100, history.ErrNoQuorum)
		}},
		{"a waiter cannot reach a quorum", func(s *story) {
			s.fault(3900, 9200, "partition(c2,m0+m1+m2,both,6s)")
			s.fails("c2", "b", true, 4000, 9100, history.ErrNoQuorum)
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
		}},
		{"a client asked in vain, and was killed before it could give back what it was granted", func(s *story) {
			s.fails("c3", "p", false, 5000, 5010, history.ErrCanceled, time.Second)
			s.client(5050, history.ClientKilled, "c3")
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		}},
		{"the calls of a client that is killed do not end", func(s *story) {
			s.fails("c3", "c", false, 5000, 0, "")
			s.holds("c3", "d", 22, 5000, 5010, 5400).add(5020, history.Event{Kind: history.UnlockBegins})
			s.client(5030, history.ClientKilled, "c3")
		}},
		{"a holder is killed soon after the end that it knew of when it got the lock", func(s *story) {
			s.renews("c3", "c", 22, 5000, 5010, 5400)
			s.client(5600, history.ClientKilled, "c3")
		}},
		{"a call lasts as long as its client is stopped", func(s *story) {
			s.client(5000, history.ClientStopped, "c0")
			s.client(9000, history.ClientGoesOn, "c0")
			s.fails("c0", "b", false, 4900, 9010, history.ErrNoQuorum)
		}},
		{"a hold is lost that nobody renews", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5410)
			h.told(5410)
			h.leaves(5420, 5430, 0)
		}},
		{"a renewed hold is lost with a majority", lostBeside(func(s *story) { s.fault(4900, 5800, "freeze(m1+m3+m4,900ms)") })},
		{"a renewed hold is lost with two minorities", lostBeside(func(s *story) {
			s.fault(4900, 5800, "freeze(m1+m3,900ms)")
			s.fault(5300, 5800, "partition(c0,m4,to-client,500ms)")
		})},
		{"a renewed hold is lost with two masters, and a third one on which a rival may have left something", func(s *story) {
			s.fault(4900, 5800, "freeze(m1+m3,900ms)")
			lostBesideARival("partition(c1,m4,both,900ms)", "b")(s)
		}},
		{"a renewed hold is lost with one master, and two others on which a rival that died may have left something", func(s *story) {
			s.fault(4900, 5800, "freeze(m1,900ms)")
			lostBesideARival("kill-client(c1,900ms)", "b")(s)
		}},
		{"a renewed hold is lost with masters that do not vote yet", lostBeside(func(s *story) { s.fault(4000, 4000, "flushall(m0+m1+m2)") })},
		{"a renewed hold is lost with a master that was out of reach when it was to vote again", lostBeside(func(s *story) {
			s.fault(2500, 2500, "flushall(m1)")
			s.fault(3400, 3960, "freeze(m1,560ms)")
			s.fault(4900, 5800, "freeze(m2+m3,900ms)")
		})},
		{"a renewed hold is lost with a master that sat out when another one lost its data", lostBeside(func(s *story) {
			s.fault(3000, 3000, "flushall(m1)")
			s.fault(3980, 3980, "flushall(m4)")
			s.fault(4900, 5800, "freeze(m2,900ms)")
		})},
		{"a renewed hold is lost with connections that are silent yet", lostBeside(func(s *story) { s.fault(4000, 4700, "stall(c0,m0+m1+m2,both,700ms)") })},
		{"a renewed hold is lost in a change of the members", lostBeside(func(s *story) { s.fault(4900, 5100, "suspend(m1,0s,200ms)") })},
		{"a renewed hold is lost soon after a change of the members", lostBeside(func(s *story) { s.fault(4000, 4600, "suspend(m1+m2,0s,600ms)") })},
		{"a renewed hold is lost while the machine is busy", lostBeside(func(s *story) {
			s.reads("c1", history.Unguarded, "d", 0, 0, 5200, 5230, "")
		})},
		{"a renewed hold is lost soon after a look at the members", lostBeside(func(s *story) {
			s.fault(4000, 4600, "suspend(m1,0s,600ms)")
			s.members(4900, "m0+m1+m2+m3+m4")
		})},
		{"a renewed hold is lost before all have recovered", func(s *story) {
			h := s.renews("c0", "b", 36, 21_600, 21_610, 22_010)
			h.told(22_010)
			h.leaves(22_020, 22_030, 0)
		}},
		{"a renewed hold is lost with a majority of which some were members for a moment", lostBeside(func(s *story) {
			s.fault(4000, 4600, "suspend(m1,0s,600ms)")
			s.members(4600, "m0+m1+m2+m3+m4")
			s.fault(4900, 5800, "freeze(m2+m3,900ms)")
		})},
		{"a renewed hold is lost, and who are members is unsettled", lostBeside(func(s *story) {
			s.fault(3000, 3100, "replace(m1,m5,0s,0s)")
			s.fault(4900, 5800, "freeze(m2,900ms)")
		})},
		{"a renewed hold is lost of a client that names few masters", lostBeside(func(s *story) {
			s.add(3900, history.Event{Kind: history.ClientStarts, Client: "c0", Masters: "m0+m1+m2"})
			s.fault(4900, 5800, "freeze(m2,900ms)")
		})},
		{"a lock that nobody has cannot be had with masters that do not vote yet", func(s *story) {
			s.fault(4400, 4500, "flushall(m0+m1+m2)")
			s.fails("c0", "p", false, 5500, 5510, history.ErrNoQuorum)
		}},
		{"a lock that nobody has cannot be had by a try that takes long", func(s *story) {
			s.fails("c0", "p", false, 5500, 5530, history.ErrNoQuorum)
		}},
		{"a lock that nobody has cannot be had when another try took long", func(s *story) {
			s.fails("c1", "q", false, 5200, 5230, history.ErrNoQuorum)
			s.fails("c0", "p", false, 5500, 5510, history.ErrNoQuorum)
		}},
		{"a lock that nobody has cannot be had since another try took long", func(s *story) {
			s.fails("c1", "q", false, 5010, 5040, history.ErrNoQuorum)
			s.fails("c1", "q", false, 5200, 5200, history.ErrNoQuorum)
			s.fails("c0", "p", false, 5500, 5500, history.ErrNoQuorum)
		}},
		{"a lock that nobody has is not waited for", func(s *story) { s.fails("c0", "p", true, 5500, 5510, history.ErrNoQuorum) }},
		{"a name was asked for in vain soon after the faults, and after the bound only by one who was canceled", func(s *story) {
			s.fails("c1", "b", false, 20_500, 20_510, history.ErrNoQuorum)
			s.fails("c1", "b", false, 23_000, 23_010, history.ErrCanceled)
		}},
		{"a lock that nobody has is not wanted any more", func(s *story) { s.fails("c0", "p", false, 5500, 5510, history.ErrCanceled) }},
		{"a lock cannot be had that somebody else asks for", func(s *story) {
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
			s.fails("c1", "p", false, 5500, 5510, history.ErrHeld)
		}},
		{"a holder is stopped twice, and is told soon after it goes on", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.client(5300, history.ClientStopped, "c0")
			s.client(5450, history.ClientGoesOn, "c0")
			s.client(5540, history.ClientStopped, "c0")
			s.client(5600, history.ClientGoesOn, "c0")
			h.told(5700)
			h.leaves(5710, 5720, 0)
		}},
		{"a holder is stopped when its lease ends, and does not go on", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.client(5450, history.ClientStopped, "c0")
		}},
		{"an unlock and a downgrade take as long as they may, and their client is killed", func(s *story) {
			s.holds("c3", "c", 22, 5000, 5010, 5400).add(5020, history.Event{Kind: history.UnlockBegins})
			s.holds("c3", "d", 22, 5000, 5010, 9400).downgrades(5020, 0, "")
			s.client(6020, history.ClientKilled, "c3")
		}},
		{"a lock outlives its unlock, which may not have arrived at two masters, beside another one that is hurt", func(s *story) {
			s.fault(4950, 5040, "partition(c1,m1+m2,both,90ms)")
			s.renews("c1", "p", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fault(5450, 5550, "freeze(m0,100ms)")
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		}},
		{"a lock that two tries may have left on a majority cannot be had beside another fault", func(s *story) {
			s.fault(4500, 4600, "partition(c1,m1+m2,both,100ms)")
			s.fault(4950, 4980, "freeze(m3,30ms)")
			s.fails("c1", "p", false, 4890, 5010, history.ErrTooSlow, 400*time.Millisecond)
			s.fault(5450, 5550, "script-flush(m4)")
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
		}},
		{"a stalled request takes the lock late", func(s *story) {
			s.fault(4950, 5900, "stall(c1,m1+m2+m3,to-server,950ms)")
			s.fails("c1", "p", false, 5000, 5010, history.ErrTooSlow, 400*time.Millisecond)
			s.fails("c0", "p", false, 6310, 6320, history.ErrHeld)
			s.fault(6300, 6400, "script-flush(m4)")
		}},
	})
}

// lostBeside is the loss of a renewed hold at 5.41 s, beside faults.
func lostBeside(faults func(s *story)) func(s *story) {
	return func(s *story) {
		faults(s)
		h := s.renews("c0", "b", 22, 5000, 5010, 5410)
		h.told(5410)
		h.leaves(5420, 5430, 0)
	}
}

// lostBesideARival is the same beside a fault of another client, which asked for a name before.
func lostBesideARival(fault, name string) func(s *story) {
	return func(s *story) {
		s.fails("c1", name, false, 4970, 4975, history.ErrHeld)
		lostBeside(func(s *story) { s.fault(4915, 5800, fault) })(s)
	}
}

// Where no machine is late, nothing may be, by 1 ms.
func TestWithoutTolerance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell func(s *story)
		rule string // "": none
	}{
		{"a holder is told when its lease ends, and another has the lock then", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5400, 5800).leaves(5500, 5510, 0)
			h.told(5400)
			h.leaves(5450, 5460, 0)
		}, ""},
		{"a holder is told too late", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.told(5401)
			h.leaves(5450, 5460, 0)
		}, Told},
		{"another has the lock before a holder is told", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5401, 5800).leaves(5500, 5510, 0)
			h.told(5402)
			h.leaves(5450, 5460, 0)
		}, Exclusion},
		{"a renewed hold is lost a ttl after the last silence", func(s *story) {
			s.fault(4000, 4700, "stall(c0,m0+m1+m2,both,700ms)")
			h := s.renews("c0", "b", 22, 4990, 5000, 5401)
			h.told(5401)
			h.leaves(5420, 5430, 0)
		}, Lost},
		{"a renewed hold is lost while a store takes its time", func(s *story) {
			s.reads("c1", history.Unguarded, "d", 0, 0, 5200, 5230, "")
			h := s.renews("c0", "b", 22, 4990, 5000, 5401)
			h.told(5401)
			h.leaves(5420, 5430, 0)
		}, Lost},
		{"a renewed hold is lost sooner", func(s *story) {
			s.fault(4000, 4700, "stall(c0,m0+m1+m2,both,700ms)")
			h := s.renews("c0", "b", 22, 4990, 5000, 5400)
			h.told(5400)
			h.leaves(5420, 5430, 0)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &story{}
			s.phase(0, history.InModel)
			s.members(0, "m0+m1+m2+m3+m4")
			c.tell(s)
			s.phase(10_000, history.OutOfModel)
			events, rules := s.sorted(), map[string]bool{}
			for _, violation := range All(events, strict()).Violations {
				rules[violation.Rule] = true
			}
			for n := range events {
				for _, violation := range Sweep(events[:n], strict()).Violations {
					rules[violation.Rule] = true
				}
			}
			if c.rule == "" && len(rules) > 0 {
				t.Errorf("found %v, want nothing, nor in any beginning", rules)
			}
			if c.rule != "" && !rules[c.rule] {
				t.Errorf("found %v, want %s", rules, c.rule)
			}
		})
	}
}

// A fault that could not be applied is none.
func TestFaultsThatCouldNotBeApplied(t *testing.T) {
	t.Parallel()
	s := &story{}
	for _, err := range []string{"", "m1: unsupported operation"} {
		s.fault(10, 0, "clock(m1,5s,2s)")
		s.add(20, history.Event{Kind: history.FaultEnds, Fault: "clock(m1,5s,2s)", Err: err})
	}
	s.fault(30, 0, "flushall(m1)")
	s.add(40, history.Event{Kind: history.FaultEnds, Fault: "flushall(m1)", Err: "no answer"})
	v := All(s.sorted(), testBounds)
	applied, failed := map[string]int{"clock": 1}, map[string]int{"clock": 1, "flushall": 1}
	if v.Faults != 1 || v.Failures != 2 || !reflect.DeepEqual(v.FaultsByKind, applied) || !reflect.DeepEqual(v.FailedByKind, failed) {
		t.Errorf("counted %d %v, and %d %v that could not be applied", v.Faults, v.FaultsByKind, v.Failures, v.FailedByKind)
	}
}

// Nobody can lock what nobody asks for.
func TestRelockCountsFromTheFirstAsk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		tell    func(s *story)
		longest time.Duration
		unasked int
	}{
		{"early and late", func(s *story) {
			s.holds("c0", "rare", 36, 30_000, 30_030, 30_400).leaves(30_040, 30_050, 0)
			s.fails("c0", "busy", false, 20_100, 20_110, history.ErrNoQuorum)
			s.holds("c0", "busy", 36, 20_200, 20_210, 21_000).leaves(20_300, 20_310, 0)
		}, 110 * ms, 0},
		{"so late that the bound is not over when all ends", func(s *story) {
			s.fails("c0", "b", false, end-900, end-890, history.ErrCanceled)
			s.holds("c0", "b", 36, end-600, end-590, end-200).leaves(end-500, end-490, 0)
		}, 310 * ms, 0},
		{"by nobody, though two had wanted it", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fails("c1", "b", false, 5015, 5018, history.ErrHeld)
		}, 10 * ms, 1},
		{"in a set", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fails("c1", "b", false, 5015, 5018, history.ErrHeld)
			s.failsTogether("c1", []string{"b", "a"}, false, 20_600, 20_610, history.ErrHeld)
		}, 10 * ms, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := good()
			c.tell(s)
			v := All(s.sorted(), testBounds)
			v.Add(v)
			if len(v.Violations) > 0 || v.LongestRelock != c.longest || v.Unasked != 2*c.unasked {
				t.Errorf("all names were lockable after %v, %d were not asked for; want %v and %d, twice; %v", v.LongestRelock, v.Unasked, c.longest, c.unasked, v.Violations)
			}
		})
	}
}

// The beginning of a good history is good: the run shows violations while it goes.
func TestEveryBeginningOfAGoodHistoryIsGood(t *testing.T) {
	t.Parallel()
	beginningsPass(t, good().sorted())
}

func TestUndecidedIsAViolation(t *testing.T) {
	t.Parallel()
	s := &story{}
	// Many writes at a time, and a read that none of their orders explains: all of them would have
	// to be tried.
	for i := range int64(22) {
		s.writes("c0", guardedStore, "a", 1, i+1, time.Duration(i), 1000, "")
	}
	s.reads("c0", guardedStore, "a", 0, 5, 1001, 1002, "")
	s.reads("c0", guardedStore, "a", 0, 6, 1003, 1004, "")
	b := testBounds
	b.Decide = 50 * ms
	violations := All(s.sorted(), b).Violations
	if !slices.ContainsFunc(violations, func(v Violation) bool { return v.Rule == Undecided }) {
		t.Errorf("found %q, want one that was not decided", violations)
	}
}

func TestRunThatProvesNothing(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.holds("c0", "a", 10, 10, 20, 400).leaves(30, 40, 0)
	v := All(s.sorted(), testBounds)
	for _, want := range []string{"no two valid claims overlapped", "no stale write was refused", "to the unguarded store"} {
		if !strings.Contains(v.Missing(), want) {
			t.Errorf("missing is %q, want %q in it", v.Missing(), want)
		}
	}
}

// What is held outside of the fault model proves nothing about it; nor do stale writes in it prove
// that a guard is needed.
func TestOverlapsAloneProveNothing(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.phase(0, history.InModel)
	h := s.holds("c0", "b", 22, 5000, 5010, 5400)
	h.told(5400)
	s.holds("c1", "b", 24, 5100, 5410, 5800).leaves(5500, 5510, 0)
	s.writes("c1", history.Unguarded, "b", 24, 101, 5412, 5414, "")
	s.writes("c0", history.Unguarded, "b", 22, 102, 5420, 5430, "")
	h.leaves(5450, 5460, 0)
	if v := All(s.sorted(), testBounds); v.Stale != 0 || v.HeldInModel != 2 {
		t.Errorf("%d stale writes as proofs, want none; %d held in the model, want 2", v.Stale, v.HeldInModel)
	}
	s.events[0].Phase = history.OutOfModel
	if v := All(s.sorted(), testBounds); v.Stale != 1 || !strings.Contains(v.Missing(), "nothing was held within the fault model") {
		t.Errorf("%d stale writes as proofs, want 1; missing is %q", v.Stale, v.Missing())
	}
}

func TestVerdictsAdd(t *testing.T) {
	t.Parallel()
	one := All(good().sorted(), testBounds)
	sum := All(good().sorted(), testBounds)
	sum.Add(one)
	if sum.Holds != 2*one.Holds || sum.Overlaps != 2*one.Overlaps || sum.FaultsByKind["clock"] != 2 || sum.LongestWait != one.LongestWait {
		t.Errorf("twice %+v is %+v", one.Counts, sum.Counts)
	}
	bad := Verdict{Violations: []Violation{{Rule: Tokens}}}
	sum.Add(bad)
	if len(sum.Violations) != 1 {
		t.Errorf("violations are %v", sum.Violations)
	}
}

// A try counts as judged if nothing would have excused any other answer than the lock.
func TestQuietTriesAreCounted(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.phase(0, history.InModel)
	s.members(0, "m0+m1+m2")
	s.tries("c0", "p", 22, 5000, 5010, 6000).leaves(5020, 5030, 0)
	s.tries("c1", "p", 23, 5100, 5110, 6000).leaves(5120, 5130, 0) // soon after another
	s.fails("c0", "p", false, 6000, 6010, history.ErrNoQuorum)
	s.fails("c0", "q", false, 6000, 6010, history.ErrCanceled)
	s.holds("c0", "r", 22, 6000, 6010, 6500).leaves(6020, 6030, 0) // by one that would have waited
	s.fault(6990, 7020, "freeze(m0+m1,30ms)")
	s.fails("c0", "p", false, 7000, 7010, history.ErrNoQuorum)
	v := All(s.sorted(), testBounds)
	v.Add(v)
	if v.Quiet != 4 {
		t.Errorf("%d tries were judged, want 2, twice", v.Quiet)
	}
}
