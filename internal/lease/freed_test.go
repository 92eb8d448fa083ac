package lease

import (
	"errors"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// When a release is done although no quorum is free: "freed everywhere" in docs/PROTOCOL.md. By
// master: h had the hold, n never had it; f it has it no more, x no answer, . none yet; a capital
// is no member.
func TestFreedEverywhere(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		masters string
		need    int
		want    quorum.Verdict
	}{
		{"hf hf nf", 2, quorum.Won},
		{"hf hf nx", 2, quorum.Won},
		{"hf nf n.", 2, quorum.Won},
		{"hf h. nf", 2, quorum.Undecided},
		{"hf hx nf", 2, quorum.Lost},
		{"hf nx nx", 2, quorum.Lost},
		{"hf nx n.", 2, quorum.Undecided},
		{"hf hf Nf", 3, quorum.Lost},
		{"hf hf Nf n.", 3, quorum.Undecided},
		{"hf hf Hx nf", 3, quorum.Lost},
		{"hf hf Hf nf", 3, quorum.Won},
	} {
		var states []releaseState
		for text := range strings.FieldsSeq(x.masters) {
			who := text[:1]
			states = append(states, releaseState{
				member: who == strings.ToLower(who), mayHave: strings.ToLower(who) == "h", seen: text[1] != '.', freed: text[1] == 'f',
			})
		}
		if got := freed(states, x.need); got != x.want {
			t.Errorf("%s, of which %d decide: %v, want %v", x.masters, x.need, got, x.want)
		}
	}
}

// What an answer to a release tells about the hold at that master.
func TestWhatAnAnswerFrees(t *testing.T) {
	t.Parallel()
	notMine := script.Vote{Answered: true, Answer: script.Refused, Err: script.ErrNotMine}
	late := notMine
	late.MayArrive = true
	for _, x := range []struct {
		granted bool
		answer  script.Vote
		want    bool
	}{
		{true, script.Vote{Answered: true, Answer: script.Granted}, true},
		{true, notMine, false}, // it was lost
		{true, late, true},     // a copy of the release that went before has freed it
		{false, notMine, true},
		{false, script.Vote{Answered: true, Answer: script.Unknown, Err: errors.New("no answer")}, false},
	} {
		r := &release{states: []releaseState{{granted: x.granted}}}
		r.note(0, x.answer)
		if got := r.states[0]; !got.seen || got.freed != x.want {
			t.Errorf("granted %v, %+v: %+v, want freed %v", x.granted, x.answer, got, x.want)
		}
	}
}
