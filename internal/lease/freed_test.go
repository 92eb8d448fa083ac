package lease

import (
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/quorum"
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
