package lease

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/clock"
)

// The next question to a master. A block of testdata/next is an aim with its other inputs, and a row is the state
// of the master (see known). The output is three next steps: the usual one, the one if an earlier copy of the
// request may still be executed, and the one if no call waits for the answer.
func TestNext(t *testing.T) {
	t.Parallel()
	aims := map[string]aim{"hold": toHold, "note": toNote, "give-up": toGiveUp, "free": toFree, "linger": toLinger}
	const now, token = clock.Instant(10), fence.Token(7)
	datadriven.RunTest(t, "testdata/next", func(t *testing.T, d *datadriven.TestData) string {
		w := want{aim: aims[d.Cmd], token: token, proved: d.HasArg("proved"), queues: d.HasArg("queues"), offers: d.HasArg("offers"), shares: d.HasArg("shares"), until: now + 1}
		if d.HasArg("over") {
			w.until = now
		}
		var all strings.Builder
		for state := range strings.Lines(d.Input) {
			state = strings.TrimSpace(state)
			s := known(t, state, now)
			repeated, settled := w, w
			repeated.resent, settled.settled = true, true
			fmt.Fprintf(&all, "%-24s %-24s %-24s %s\n", state, inWords(next(s, w, now)), inWords(next(s, repeated, now)), inWords(next(s, settled, now)))
		}
		return all.String()
	})
}

// known returns the state that the words describe: see Master.String. "lapsed" is an ended offer.
func known(t *testing.T, words string, now clock.Instant) Master {
	s := Master{Answered: true}
	for word := range strings.FieldsSeq(words) {
		switch word {
		case "unasked":
			s.Answered = false
		case "refused":
		case "granted":
			s.Granted = true
		case "confirmed":
			s.Confirmed = true
		case "lost":
			s.Lost = true
		case "repairing":
			s.Repairs = 1
		case "in-doubt":
			s.MayArrive = true
		case "undoing":
			s.Undoing = true
		case "offered":
			s.Offered = now + 1
		case "lapsed":
			s.Offered = now
		case "non-voting":
			s.NonVotingAt = "v"
		default:
			if _, err := fmt.Sscan(word, &s.Grant); err != nil {
				t.Fatalf("no state is named %q", word)
			}
		}
	}
	return s
}

func inWords(s step) string {
	if s.what == nil {
		return "-"
	}
	words := s.what.Name
	if s.mark {
		words += "+mark"
	}
	return words + [...]string{"", ", leaves", ", withdraws", ", returns"}[s.queue]
}
