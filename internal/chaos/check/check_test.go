package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

var testBounds = Bounds{
	Told:     100 * ms,
	Patience: 5000 * ms,
	Hung:     1000 * ms,
	Outlive:  1000 * ms,
	GiveBack: 400 * ms,
	Recovery: 2000 * ms,
	Grace:    500 * ms,
	Decide:   10 * time.Second,
}

const (
	guardedStore = history.RedisGuarded
	end          = 60_000 // of every story
)

// good is a history in which all went well: within the fault model until 10 s,
// outside of it until 20 s, healed from there on.
func good() *story {
	s := &story{}
	s.phase(0, history.InModel)
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
	// One that dies holding, and one that is stopped past its lease: what it then
	// writes is refused, and the unguarded store takes it.
	s.holds("c3", "a", 14, 1000, 1010, 1400)
	s.client(1100, history.ClientKilled, "c3")
	stopped := s.holds("c2", "a", 16, 1300, 1500, 1900)
	s.client(1600, history.ClientStopped, "c2")
	third := s.holds("c1", "a", 18, 1700, 2000, 2400)
	s.writes("c1", guardedStore, "a", 18, 2, 2010, 2020, "")
	s.writes("c1", history.Unguarded, "a", 18, 3, 2030, 2040, "")
	s.client(2100, history.ClientGoesOn, "c2")
	s.writes("c2", guardedStore, "a", 16, 4, 2110, 2120, history.ErrRefused)
	s.writes("c2", history.Unguarded, "a", 16, 5, 2130, 2140, "")
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
	// A name that nobody asks for when all is healed.
	s.holds("c0", "rare", 21, 3200, 3210, 3600).leaves(3220, 3230, 0)

	s.phase(10_000, history.OutOfModel)
	s.add(10_050, history.Event{Kind: history.FaultBegins, Fault: "clock(m0+m1+m2,5s,2s)"})
	one := s.holds("c0", "a", 30, 10_100, 10_110, 10_500)
	other := s.holds("c1", "a", 32, 10_200, 10_210, 10_600)
	one.leaves(10_300, 10_310, 0)
	other.leaves(10_350, 10_360, 0)

	s.phase(20_000, history.Healed)
	s.holds("c0", "a", 34, 20_500, 20_510, 20_900).leaves(20_800, 20_810, 0)
	s.fails("c0", "a", false, end, end+1, history.ErrNoQuorum)
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
	v.FaultsByKind = nil
	want := Counts{
		Operations: 36, Holds: 11, Reentries: 1, Renewals: 1, Failed: 2, ToldOf: 3, Killed: 1, Overlaps: 1, Refused: 1,
		Stale: 1, LostUpdates: 1, Unknown: 1, Faults: 1, Linearized: v.Linearized,
		LongestWait: 405 * ms, LongestRelock: 510 * ms, LongestTakeover: 100 * ms,
	}
	if got := v.Counts; !equalCounts(got, want) {
		t.Errorf("counted %+v\nwant    %+v", got, want)
	}
	if v.Linearized < 20 {
		t.Errorf("Porcupine was given %d operations", v.Linearized)
	}
}

func equalCounts(a, b Counts) bool {
	a.FaultsByKind, b.FaultsByKind = nil, nil
	return a.Operations == b.Operations && a.Holds == b.Holds && a.Reentries == b.Reentries && a.Renewals == b.Renewals &&
		a.Failed == b.Failed && a.ToldOf == b.ToldOf && a.Killed == b.Killed && a.Overlaps == b.Overlaps &&
		a.Refused == b.Refused && a.Stale == b.Stale && a.LostUpdates == b.LostUpdates && a.Unknown == b.Unknown &&
		a.Faults == b.Faults && a.LongestWait == b.LongestWait && a.LongestRelock == b.LongestRelock &&
		a.LongestTakeover == b.LongestTakeover
}

// Every rule catches what breaks it, and says who and when; times are such that the
// good part of the history is over, or on another name.
func TestBadHistories(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		tell func(s *story)
		rule string
		says string
	}{
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
		}, Told, "ended at 5.4s, and it was not told until 6.01s"},
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
		{"a waiter starves", func(s *story) {
			s.fails("c2", "a", true, 4000, 9100, history.ErrHeld)
		}, Starvation, "c2 waited for it from 4s to 9.1s"},
		{"a call hangs", func(s *story) {
			s.fails("c2", "a", false, 30_000, 0, "")
		}, Starvation, "hangs"},
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
		{"an attempt that failed leaves its lock", func(s *story) {
			s.fails("c0", "p", false, 5000, 5010, history.ErrNoQuorum)
			s.fails("c0", "p", false, 5500, 5510, history.ErrHeld)
			s.holds("c0", "p", 26, 20_000, 20_010, 20_400).leaves(20_020, 20_030, 0)
		}, Leftover, "p: c0 was told at 5.51s that it is held"},
		{"a name stays locked", func(s *story) {
			s.holds("c0", "b", 22, 5000, 5010, 5400).leaves(5020, 5030, 0)
			s.fails("c1", "b", false, 23_000, 23_010, history.ErrHeld)
		}, Recovery, "b: all faults ended at 20s, and nobody could lock it within 2s"},
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
		{"an answer to nothing", func(s *story) {
			heldLock{s, "c0", 99, "a", 9}.add(5000, history.Event{Kind: history.LockHeld})
		}, BrokenRecord, "no call for that lock is under way"},
		{"a write that never began", func(s *story) {
			s.add(5000, history.Event{Kind: history.WriteEnds, Client: "c0", Call: 99, Name: "a", Store: guardedStore})
		}, BrokenRecord, "no such access is under way"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := good()
			c.tell(s)
			violations := All(s.sorted(), testBounds).Violations
			if !slices.ContainsFunc(violations, func(v Violation) bool { return v.Rule == c.rule && strings.Contains(v.String(), c.says) }) {
				t.Errorf("found %q\nwant %s: … %s …", violations, c.rule, c.says)
			}
		})
	}
}

// The beginning of a good history is good: the run shows violations while it goes.
func TestEveryBeginningOfAGoodHistoryIsGood(t *testing.T) {
	t.Parallel()
	events := good().sorted()
	for n := range events {
		for _, violation := range Sweep(events[:n], testBounds).Violations {
			t.Errorf("after %d events: %v", n, violation)
		}
	}
}

func TestUndecidedIsAViolation(t *testing.T) {
	t.Parallel()
	s := &story{}
	// Many writes at a time, and a read that none of their orders explains: all of
	// them would have to be tried.
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
