package register

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// clockwork is a model of two hands. Each moves from 0 to Ends. The hands move in any order.
type clockwork struct {
	Ends     int `bound:"3"`
	Together int `full:"1"` // 0: the promise is broken when both hands are at their ends
}

type hands [2]uint8

func (m *clockwork) start() hands { return hands{} }

func (m *clockwork) steps(s *hands, to func(*hands, move)) {
	for i := range s {
		if int(s[i]) < m.Ends {
			next := *s
			next[i]++
			to(&next, move{a: uint8(i)})
		}
	}
}

func (m *clockwork) broken(s *hands) string {
	if m.Together == 0 && int(s[0]) == m.Ends && int(s[1]) == m.Ends {
		return "both are at their ends"
	}
	return ""
}

func (m *clockwork) event(s *hands, by move) string { return fmt.Sprintf("hand %d: %d", by.a, s[by.a]) }

func TestAllStatesAreVisitedOnce(t *testing.T) {
	for _, ends := range []int{0, 1, 3, 100} {
		m := &clockwork{Ends: ends, Together: 1}
		want := (ends + 1) * (ends + 1)
		if r := breadthFirst(m, time.Minute); !r.complete || r.states != want || r.transitions != 2*ends*(ends+1) {
			t.Errorf("%d: complete %t, %d states and not %d, %d transitions", ends, r.complete, r.states, want, r.transitions)
		}
	}
}

func TestStoryIsShortest(t *testing.T) {
	m := &clockwork{Ends: 2}
	r := breadthFirst(m, time.Minute)
	if r.complete || r.broken == "" || len(r.story) != 4 {
		t.Fatalf("complete %t:\n%s", r.complete, r)
	}
	if second := follow(m, time.Minute, r.story); second.broken == "" || !slices.Equal(second.story, r.story) {
		t.Errorf("the story cannot be followed:\n%s", second)
	}
	wrong := append(slices.Clone(r.story[:3]), "something else")
	if r := follow(m, time.Minute, wrong); r.broken != "" {
		t.Errorf("another story leads there as well:\n%s", r)
	}
}

func TestTruncatedExplorationIsIncomplete(t *testing.T) {
	m := &clockwork{Ends: 200, Together: 1}
	if r := breadthFirst(m, 0); r.complete {
		t.Errorf("complete with no time")
	}
}

func TestSettings(t *testing.T) {
	m := new(tokens)
	if err := configure(m, "PUSH=1 LOSSES=2"); err != nil {
		t.Fatal(err)
	}
	if m.Push != 1 || m.Losses != 2 || m.Members != 3 || m.Commit != 1 {
		t.Errorf("PUSH=1 LOSSES=2 is %+v", *m)
	}
	for _, text := range []string{"LOSS=2", "LOSSES", "LOSSES=two", "losses=2"} {
		if configure(m, text) == nil {
			t.Errorf("%q is taken for a setting", text)
		}
	}
	if all, want := weakenings(new(clockwork)), []string{"TOGETHER=0"}; !slices.Equal(all, want) {
		t.Errorf("the weakenings are %q and not %q", all, want)
	}
	if all := weakenings(m); !slices.Contains(all, "PUSH=1") || !slices.Contains(all, "VOID=0") {
		t.Errorf("the weakenings are %q", all)
	}
}
