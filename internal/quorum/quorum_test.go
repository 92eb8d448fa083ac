package quorum

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// More than half of all members are a quorum, however many of them vote or can be reached.
func TestMajorityOfConfiguredMembers(t *testing.T) {
	for members, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 7: 4} {
		v := testvotes.ViewOfAll(members)
		v.Out[0] = script.ErrNotMember
		if got := MajorityOf(v); got != (Majority{want, members}) {
			t.Errorf("of %d members %d are a quorum of %d, want %d", members, got.Need, got.Of, want)
		}
	}
}

// Verdicts match a slow and simple reference: a verdict is certain if no pending vote can change
// it. An acquisition is won or lost. A question about a held lock is won or disowned, or neither.
func TestDecideEarly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		votes := rapid.StringOfN(rapid.SampledFrom([]rune("ghnru.")), 1, 7, -1).Draw(t, "votes")
		need := testvotes.MajorityOf(len(votes))
		won, held := map[bool]bool{}, map[string]bool{}
		var fill func(prefix, rest string)
		fill = func(prefix, rest string) {
			switch {
			case rest == "":
				grants, noes := strings.Count(prefix, "g"), strings.Count(prefix, "h")+strings.Count(prefix, "n")
				won[grants >= need] = true
				held[fmt.Sprint(grants >= need, len(prefix)-noes < need)] = true
			case rest[0] != '.':
				fill(prefix+rest[:1], rest[1:])
			default:
				for _, answer := range []string{"g", "n", "u"} {
					fill(prefix+answer, rest[1:])
				}
			}
		}
		fill("", votes)
		verdict := func(outcomes int) Verdict {
			switch {
			case outcomes > 1:
				return Undecided
			case won[true]:
				return Won
			}
			return Lost
		}
		if got, want := Decide(testvotes.Of(votes), need), verdict(len(won)); got != want {
			t.Fatalf("%q decides %v, want %v", votes, got, want)
		}
		if got, want := DecideHeld(testvotes.Of(votes), Majority{need, len(votes)}), verdict(len(held)); got != want {
			t.Fatalf("%q decides %v of a lock that is held, want %v; it may become %v", votes, got, want, held)
		}
	})
}

func TestDisowned(t *testing.T) {
	for _, c := range []struct {
		claim, votes string
		want         bool
	}{
		{"three of five are not mine", "nnn..", true},
		{"two of five leave a quorum", "nn...", false},
		{"unknown is not lost", "nnuuu", false},
		{"refused is not lost", "nnrrr", false},
		{"two of four leave no quorum", "nn..", true},
		{"another's hold is a no", "hhn..", true},
	} {
		if got := Disowned(testvotes.Of(c.votes), Majority{testvotes.MajorityOf(len(c.votes)), len(c.votes)}); got != c.want {
			t.Errorf("%s: %q: %v, want %v", c.claim, c.votes, got, c.want)
		}
	}
}

func TestContended(t *testing.T) {
	for _, c := range []struct {
		claim, votes string
		freeIn       time.Duration
		want         bool
	}{
		{"free with the third-smallest of five", "hhhhh", 3 * time.Second, true},
		{"a grant is free at once", "gghhh", 3 * time.Second, true},
		{"a quorum of grants is free now", "ggghh", 0, true},
		{"what was granted and is held are a quorum", "gghuu", 3 * time.Second, true},
		{"three reports are enough", "hhhuu", 3 * time.Second, true},
		{"silent masters may never be free", "hhuuu", 0, false},
		{"masters that do not vote are no quorum", "rrrgh", 0, false},
		{"those that were not waited for may be free", "hhh..", time.Second, true},
		{"two of five are away, and of the three that are needed one is held", "rrh..", 3 * time.Second, true},
		{"… or two", "rrhh.", 4 * time.Second, true},
		{"three are away: no quorum, no matter what the others answer", "rrrh.", 0, false},
		{"after the timeout, masters without an answer are away", "hg...", 0, false},
	} {
		freeIn, got := Contended(testvotes.Of(c.votes), testvotes.MajorityOf(len(c.votes)))
		if freeIn != c.freeIn || got != c.want {
			t.Errorf("%s: %q: %v, %v; want %v, %v", c.claim, c.votes, freeIn, got, c.freeIn, c.want)
		}
	}
}

func TestNthLargest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 9).Draw(t, "values")
		need := testvotes.MajorityOf(len(values))
		got := NthLargest(values, need)
		least := slices.IndexFunc(values, func(v int) bool { return v == got })
		atLeast := 0
		for _, v := range values {
			if v >= got {
				atLeast++
			}
		}
		above := 0
		for _, v := range values {
			if v > got {
				above++
			}
		}
		if least < 0 || atLeast < need || above >= need {
			t.Fatalf("NthLargest(%v, %d) = %d", values, need, got)
		}
	})
}
