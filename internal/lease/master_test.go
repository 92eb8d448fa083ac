package lease

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// A row of testdata/take is the state of a master (see known), and pairs of a question and its
// answer. The output has the new state, and the vote that counts in the round of the last answer.
// Its last column is until when the master's vote counts: "never", "as before", from the request
// ("asked"), or "ended". "twice" marks the answer to a request that was sent again.
func TestTake(t *testing.T) {
	t.Parallel()
	const before, asked, now = clock.Instant(1 * time.Second), clock.Instant(2 * time.Second), clock.Instant(3 * time.Second)
	terms := quorum.TermsOf(10*time.Second, 0, 0.01)
	given := terms.Given(0.01)
	questions := map[string]Question{"acquire": ToAcquire, "notice": ToAcquire, "reenter": ToReenter, "extend": ToExtend, "repair": ToRepair}
	datadriven.RunTest(t, "testdata/take", func(t *testing.T, d *datadriven.TestData) string {
		var all strings.Builder
		for row := range strings.Lines(d.Input) {
			state, answers, _ := strings.Cut(strings.TrimSpace(row), ": ")
			s := known(t, state, now)
			if s.Granted {
				s.Until, s.Expiry = terms.ValidUntil(before), quorum.Expiry{Lo: before.Add(terms.TTL), Hi: before.Add(terms.TTL)}
			}
			var counted script.Vote
			for answer := range strings.SplitSeq(answers, ", ") {
				question, reply, _ := strings.Cut(answer, " ")
				v := replied(t, reply)
				v.Answered, v.Given, v.Sent, v.Got = true, question == "notice", asked, now
				if question == "extend" && v.Answer == script.Granted {
					v.Remaining = max(s.Expiry.Lo.Sub(now), 0)
				}
				counted, _ = s.take(Answer{To: questions[question], Vote: v, Terms: terms, given: given, version: "v", counts: true, Now: now})
			}
			until := map[clock.Instant]string{
				0: "never", terms.ValidUntil(before): "as before", terms.ValidUntil(asked): "from asked", given.ValidUntil(asked): "from asked, short", now: "ended",
			}[s.Until]
			fmt.Fprintf(&all, "%-24s %-28s %-32v %-9v %s\n", state, answers, s, counted.Answer, until)
		}
		return all.String()
	})
}

// replied returns the vote that the words name.
func replied(t *testing.T, words string) (v script.Vote) {
	for word := range strings.FieldsSeq(words) {
		switch word {
		case "yes":
			v.Answer = script.Granted
		case "no":
			v.Answer, v.Err = script.Refused, script.ErrNotMine
		case "held":
			v.Answer, v.Remaining = script.Held, time.Second
		case "version":
			v.Answer, v.Err = script.Refused, script.ErrVersion
		case "unsent":
			v.Answer, v.Err = script.Refused, quorum.ErrNotSent
		case "unknown":
			v.Answer = script.Unknown
		case "twice":
			v.MayArrive = true
		default:
			if _, err := fmt.Sscan(word, &v.Grant); err != nil {
				t.Fatalf("no answer is named %q", word)
			}
		}
	}
	return v
}
