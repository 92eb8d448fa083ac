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
func TestQuorumIsOfTheConfigured(t *testing.T) {
	for members, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 3, 5: 3, 7: 4} {
		v := testvotes.ViewOfAll(members)
		v.Out[0] = script.ErrNotMember
		if got := MajorityOf(v); got != (Majority{want, members}) {
			t.Errorf("of %d members %d are a quorum of %d, want %d", members, got.Need, got.Of, want)
		}
	}
}

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		claim, votes string
		want         Verdict
	}{
		{"one master decides alone", "g", Won},
		{"one master refuses alone", "h", Lost},
		{"nothing heard decides nothing", ".....", Undecided},
		{"a quorum of grants wins, whatever comes", "ggg..", Won},
		{"two grants of five do not", "gg...", Undecided},
		{"two grants of five with the others unknown lose", "gguuu", Lost},
		{"unknown is no grant", "ggu..", Undecided},
		{"three noes lose while two are pending", "hhh..", Lost},
		{"two noes do not lose", "hh...", Undecided},
		{"refusals and holds add up", "hru..", Lost},
		{"an even split of four loses", "gghh", Lost},
		{"with four masters two noes lose", "hh..", Lost},
		{"with two masters one no loses", ".h", Lost},
		{"with two masters one grant does not win", "g.", Undecided},
		{"unreachable masters do not shrink the quorum", "uuugg", Lost},
	} {
		if got := Decide(testvotes.Of(c.votes), testvotes.MajorityOf(len(c.votes))); got != c.want {
			t.Errorf("%s: %q decides %v, want %v", c.claim, c.votes, got, c.want)
		}
	}
}

// A second implementation, too slow and too simple to be wrong: a verdict is certain when it is the
// same whatever the pending votes become.
func TestDecideAsSoonAsCertain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		votes := rapid.StringOfN(rapid.SampledFrom([]rune("ghru.")), 1, 7, -1).Draw(t, "votes")
		outcomes := map[Verdict]bool{}
		var fill func(prefix, rest string)
		fill = func(prefix, rest string) {
			if rest == "" {
				grants := 0
				for _, c := range prefix {
					if c == 'g' {
						grants++
					}
				}
				if grants > len(prefix)/2 {
					outcomes[Won] = true
				} else {
					outcomes[Lost] = true
				}
				return
			}
			if rest[0] != '.' {
				fill(prefix+rest[:1], rest[1:])
				return
			}
			fill(prefix+"g", rest[1:])
			fill(prefix+"h", rest[1:])
		}
		fill("", votes)
		want := Undecided
		if len(outcomes) == 1 {
			for v := range outcomes {
				want = v
			}
		}
		if got := Decide(testvotes.Of(votes), testvotes.MajorityOf(len(votes))); got != want {
			t.Fatalf("%q decides %v, want %v", votes, got, want)
		}
	})
}

func TestDisowned(t *testing.T) {
	for _, c := range []struct {
		claim, votes string
		want         bool
	}{
		{"three of five say not yours", "nnn..", true},
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

func TestDecideHeld(t *testing.T) {
	for _, c := range []struct {
		claim, votes string
		want         Verdict
	}{
		{"two noes and one dead of five do not decide: a third may disown it", "nnu..", Undecided},
		{"the third does", "nnun.", Lost},
		{"with three noes or three grants out of reach it is neither", "nnugg", Lost},
		{"three unknown of five: neither can come any more", "uuu..", Lost},
		{"three noes disown it", "nnn..", Lost},
		{"three grants win", "ggg..", Won},
		{"two grants and two noes hang on the last", "ggnn.", Undecided},
		{"of three, one no and one dead hang on the last", "nu.", Undecided},
	} {
		if got := DecideHeld(testvotes.Of(c.votes), Majority{testvotes.MajorityOf(len(c.votes)), len(c.votes)}); got != c.want {
			t.Errorf("%s: %q decides %v, want %v", c.claim, c.votes, got, c.want)
		}
	}
}

// A second implementation: the answer (won, disowned or neither) is certain when it is the same
// whatever the pending votes become.
func TestDecideHeldAsSoonAsCertain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		votes := rapid.StringOfN(rapid.SampledFrom([]rune("ghnru.")), 1, 7, -1).Draw(t, "votes")
		need := testvotes.MajorityOf(len(votes))
		outcomes := map[string]bool{}
		var fill func(prefix, rest string)
		fill = func(prefix, rest string) {
			switch {
			case rest == "":
				grants, noes := strings.Count(prefix, "g"), strings.Count(prefix, "h")+strings.Count(prefix, "n")
				outcomes[fmt.Sprint(grants >= need, len(prefix)-noes < need)] = true
			case rest[0] != '.':
				fill(prefix+rest[:1], rest[1:])
			default:
				for _, answer := range []string{"g", "n", "u"} {
					fill(prefix+answer, rest[1:])
				}
			}
		}
		fill("", votes)
		got := DecideHeld(testvotes.Of(votes), Majority{need, len(votes)})
		if (got == Undecided) != (len(outcomes) > 1) {
			t.Fatalf("%q decides %v, and may become %v", votes, got, outcomes)
		}
	})
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
		{"three that told are enough", "hhhuu", 3 * time.Second, true},
		{"silent masters may never be free", "hhuuu", 0, false},
		{"masters that do not vote are no quorum", "rrrgh", 0, false},
		{"those that were not waited for may be free", "hhh..", time.Second, true},
		{"two of five are away, and of the three that are needed one is held", "rrh..", 3 * time.Second, true},
		{"… or two", "rrhh.", 4 * time.Second, true},
		{"three are away: nothing can be had whoever holds", "rrrh.", 0, false},
		{"the time was up: who did not answer by then is away", "hg...", 0, false},
	} {
		freeIn, got := Contended(testvotes.Of(c.votes), testvotes.MajorityOf(len(c.votes)))
		if freeIn != c.freeIn || got != c.want {
			t.Errorf("%s: %q: %v, %v; want %v, %v", c.claim, c.votes, freeIn, got, c.freeIn, c.want)
		}
	}
}

func TestQuorumth(t *testing.T) {
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
