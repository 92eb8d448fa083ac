package check

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

var testBounds = Bounds{
	Notice:     100 * ms,
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
}

// strict returns the bounds of a machine that is never late.
func strict() Bounds {
	b := testBounds
	b.Notice, b.Late, b.Calm, b.Busy = 0, 0, 0, 0
	return b
}

const (
	guardedStore = history.RedisGuarded
	end          = 60_000 // of every story, in ms
)

// good is a history without violations. It is in the fault model until 10 s, out of the model until 20 s, then healed.
func good() *story {
	s := &story{}
	s.phase(0, history.InModel)
	s.members(0, "m0+m1+m2+m3+m4")
	// Two clients hold the name one after the other. The second client waits while the first holds the name.
	first := s.holds("c0", "a", 10, 10, 20, 400)
	s.writes("c0", guardedStore, "a", 10, 1, 30, 40, "")
	s.reads("c0", guardedStore, "a", 10, 1, 50, 60, "")
	reentry := first.reenters(70, 80, 470, 2)
	first.renewed(200, 590)
	reentry.leaves(300, 310, 1)
	first.leaves(500, 510, 0)
	second := s.holds("c1", "a", 12, 100, 505, 900)
	second.contextEnds(901)
	second.leaves(950, 960, 0)
	s.fails("c2", "a", false, 600, 610, history.ErrHeld)
	// One client dies while it holds the name. Another client is stopped until after its lease. The guard refuses the
	// later write of the stopped client, and the unguarded store accepts this write.
	s.holds("c3", "a", 14, 1000, 1010, 1400)
	s.client(1100, history.ClientKilled, "c3")
	stopped := s.holds("c2", "a", 16, 1300, 1500, 1900)
	s.client(1600, history.ClientStopped, "c2")
	third := s.holds("c1", "a", 18, 1700, 2000, 2400)
	s.writes("c1", guardedStore, "a", 18, 2, 2010, 2020, "")
	s.writes("c1", history.Unguarded, "a", 18, 3, 2030, 2040, "")
	s.client(2100, history.ClientGoesOn, "c2")
	s.writes("c2", guardedStore, "a", 16, 4, 2110, 2120, history.ErrRefused)
	s.writes("c2", history.Unguarded, "a", 16, 5, 2130, 2140, "") // does not prove that a guard is needed, because the context had ended
	stopped.contextEnds(2110)
	stopped.leaves(2150, 2160, 0)
	s.reads("c1", history.Unguarded, "a", 18, 5, 2200, 2210, "")
	s.reads("c0", guardedStore, "a", 0, 2, 2220, 2230, "")
	third.leaves(2250, 2260, 0)
	// Several failed renewals added votes. Together these votes prolonged the lease after its last recorded end.
	longer := s.holds("c0", "rare", 19, 2300, 2310, 2400)
	longer.add(2800, history.Event{Kind: history.ContextEnded, Err: history.ErrExpired, Until: 2800 * ms})
	longer.leaves(2810, 2820, 0)
	// A write with an unknown outcome arrives late.
	fourth := s.holds("c1", "a", 20, 3000, 3010, 3400)
	s.writes("c1", guardedStore, "a", 20, 6, 3020, 3030, history.ErrUnknown)
	s.reads("c0", guardedStore, "a", 0, 2, 3040, 3050, "")
	s.reads("c0", guardedStore, "a", 0, 6, 3060, 3070, "")
	fourth.leaves(3100, 3110, 0)
	// A renewed hold ends by its unlock.
	calm := s.renews("c0", "calm", 23, 4000, 4010, 4400)
	calm.renewed(4390, 4790)
	calm.leaves(4700, 4710, 0)
	// Nobody asks for this name after all faults are healed.
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
	v := All(good().sortedEvents(), testBounds)
	for _, violation := range v.Violations {
		t.Error(violation)
	}
	if missing := v.Missing(); missing != "" {
		t.Error(missing)
	}
	want := Counts{
		Operations: 39, Holds: 12, HeldInModel: 9, Calm: 1, Alone: 3, Reentries: 1, Renewals: 2, Failed: 1, ContextsEnded: 3, Killed: 1, Overlaps: 1, Refused: 1,
		Stale: 1, LostUpdates: 1, Unknown: 1, Faults: 1,
		FaultsByKind: map[string]int{"clock": 1}, FailedByKind: map[string]int{},
		LongestWait: 405 * ms, LongestRelock: 10 * ms,
	}
	if got := v.Counts; !reflect.DeepEqual(got, want) {
		t.Errorf("counted %+v\nwant    %+v", got, want)
	}
}

// scenario is a history that is added to the good history, and a part of the text of its violation.
type scenario struct {
	name   string
	text   string
	events func(s *story)
}

// beside returns the events of the good history, with other events added.
func beside(events func(s *story)) []history.Event {
	s := good()
	events(s)
	return s.sortedEvents()
}

func TestPassingHistories(t *testing.T) {
	t.Parallel()
	for _, h := range passing {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			for _, violation := range All(beside(h.events), testBounds).Violations {
				t.Error(violation)
			}
		})
	}
}

func TestRefusedHistories(t *testing.T) {
	t.Parallel()
	for rule, all := range refused {
		for _, h := range all {
			t.Run(rule+"/"+h.name, func(t *testing.T) {
				t.Parallel()
				violations := All(beside(h.events), testBounds).Violations
				if !slices.ContainsFunc(violations, func(v Violation) bool { return v.Rule == rule && strings.Contains(v.String(), h.text) }) {
					t.Errorf("found %q\nwant %s: … %s …", violations, rule, h.text)
				}
			})
		}
	}
}

// Without tolerance for a slow machine, a delay of 1 ms is a violation.
func TestWithoutTolerance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		events func(s *story)
		rule   string // "": none
	}{
		{"a context ends with its lease, and another has the lock then", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5400, 5800).leaves(5500, 5510, 0)
			h.contextEnds(5400)
			h.leaves(5450, 5460, 0)
		}, ""},
		{"a context ends too late", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			h.contextEnds(5401)
			h.leaves(5450, 5460, 0)
		}, Notified},
		{"another has the lock before a context ends", func(s *story) {
			h := s.holds("c0", "b", 22, 5000, 5010, 5400)
			s.holds("c1", "b", 24, 5100, 5401, 5800).leaves(5500, 5510, 0)
			h.contextEnds(5402)
			h.leaves(5450, 5460, 0)
		}, Exclusion},
		{"a renewed hold is lost a ttl after the last fault", func(s *story) {
			s.fault(4000, 4700, "stall(c0,m0+m1+m2,both,700ms)")
			h := s.renews("c0", "b", 22, 4990, 5000, 5401)
			h.contextEnds(5401)
			h.leaves(5420, 5430, 0)
		}, Lost},
		{"a renewed hold is lost while a store is slow", func(s *story) {
			s.reads("c1", history.Unguarded, "d", 0, 0, 5200, 5230, "")
			h := s.renews("c0", "b", 22, 4990, 5000, 5401)
			h.contextEnds(5401)
			h.leaves(5420, 5430, 0)
		}, Lost},
		{"a renewed hold is lost earlier", func(s *story) {
			s.fault(4000, 4700, "stall(c0,m0+m1+m2,both,700ms)")
			h := s.renews("c0", "b", 22, 4990, 5000, 5400)
			h.contextEnds(5400)
			h.leaves(5420, 5430, 0)
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &story{}
			s.phase(0, history.InModel)
			s.members(0, "m0+m1+m2+m3+m4")
			c.events(s)
			s.phase(10_000, history.OutOfModel)
			rules := map[string]bool{}
			for _, violation := range All(s.sortedEvents(), strict()).Violations {
				rules[violation.Rule] = true
			}
			if c.rule == "" && len(rules) > 0 {
				t.Errorf("found %v, want nothing", rules)
			}
			if c.rule != "" && !rules[c.rule] {
				t.Errorf("found %v, want %s", rules, c.rule)
			}
		})
	}
}

// A fault that could not be applied counts as a failed fault, not as a fault.
func TestFailedFaults(t *testing.T) {
	t.Parallel()
	s := &story{}
	for _, err := range []string{"", "m1: unsupported operation"} {
		s.fault(10, 0, "clock(m1,5s,2s)")
		s.add(20, history.Event{Kind: history.FaultEnds, Fault: "clock(m1,5s,2s)", Err: err})
	}
	s.fault(30, 0, "flushall(m1)")
	s.add(40, history.Event{Kind: history.FaultEnds, Fault: "flushall(m1)", Err: "no answer"})
	v := All(s.sortedEvents(), testBounds)
	applied, failed := map[string]int{"clock": 1}, map[string]int{"clock": 1, "flushall": 1}
	if v.Faults != 1 || v.Failures != 2 || !reflect.DeepEqual(v.FaultsByKind, applied) || !reflect.DeepEqual(v.FailedByKind, failed) {
		t.Errorf("counted %d %v, and %d %v that could not be applied", v.Faults, v.FaultsByKind, v.Failures, v.FailedByKind)
	}
}

func TestRunWithoutProof(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.holds("c0", "a", 10, 10, 20, 400).leaves(30, 40, 0)
	v := All(s.sortedEvents(), testBounds)
	for _, want := range []string{"no two valid claims overlapped", "no stale write was refused", "to the unguarded store"} {
		if !strings.Contains(v.Missing(), want) {
			t.Errorf("missing is %q, want %q in it", v.Missing(), want)
		}
	}
}

// Holds out of the fault model prove nothing about the model. Stale writes within the model do not prove that a guard
// is needed.
func TestOverlapsAreNoProof(t *testing.T) {
	t.Parallel()
	s := &story{}
	s.phase(0, history.InModel)
	h := s.holds("c0", "b", 22, 5000, 5010, 5400)
	h.contextEnds(5400)
	s.holds("c1", "b", 24, 5100, 5410, 5800).leaves(5500, 5510, 0)
	s.writes("c1", history.Unguarded, "b", 24, 101, 5412, 5414, "")
	s.writes("c0", history.Unguarded, "b", 22, 102, 5420, 5430, "")
	h.leaves(5450, 5460, 0)
	if v := All(s.sortedEvents(), testBounds); v.Stale != 0 || v.HeldInModel != 2 {
		t.Errorf("%d stale writes as proofs, want none; %d held in the model, want 2", v.Stale, v.HeldInModel)
	}
	s.events[0].Phase = history.OutOfModel
	if v := All(s.sortedEvents(), testBounds); v.Stale != 1 || !strings.Contains(v.Missing(), "nothing was held within the fault model") {
		t.Errorf("%d stale writes as proofs, want 1; missing is %q", v.Stale, v.Missing())
	}
}

func TestVerdictAdd(t *testing.T) {
	t.Parallel()
	one := All(good().sortedEvents(), testBounds)
	sum := All(good().sortedEvents(), testBounds)
	sum.Add(one)
	if sum.Holds != 2*one.Holds || len(sum.Figures()) == 0 || sum.Overlaps != 2*one.Overlaps || sum.FaultsByKind["clock"] != 2 || sum.LongestWait != one.LongestWait {
		t.Errorf("twice %+v is %+v", one.Counts, sum.Counts)
	}
	bad := Verdict{Violations: []Violation{{Rule: Tokens}}}
	sum.Add(bad)
	if len(sum.Violations) != 1 {
		t.Errorf("violations are %v", sum.Violations)
	}
}
