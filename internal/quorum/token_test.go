package quorum

import (
	"testing"

	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

func TestTokenIsHighestConfirmedGrant(t *testing.T) {
	granted := func(numbers ...int64) []script.Vote {
		votes := make([]script.Vote, len(numbers))
		for i, n := range numbers {
			switch {
			case n > 0:
				votes[i] = script.Vote{Answered: true, Answer: script.Granted, Grant: n}
			case n < 0:
				votes[i] = script.Vote{Answered: true, Answer: script.Held}
			}
		}
		return votes
	}
	for _, c := range []struct {
		claim     string
		votes     []script.Vote
		token     int64
		low       int64 // the lowest number granted
		confirmed Verdict
		ask       int // masters to confirm
	}{
		{"equal votes need no confirm", granted(5, 5, 5, 0, 0), 5, 5, Won, 0},
		{"one above the others must be confirmed", granted(9, 2, 2, 0, 0), 9, 2, Undecided, 2},
		{"a quorum at the top is enough", granted(9, 9, 9, 1, 1), 9, 1, Won, 2},
		{"masters that did not grant cannot confirm", granted(9, 2, 2, -1, -1), 9, 2, Undecided, 2},
		{"three of three, one low", granted(4, 4, 3), 4, 3, Won, 1},
		{"one master", granted(1), 1, 1, Won, 0},
	} {
		token := HighestGrant(c.votes)
		if int64(token) != c.token {
			t.Errorf("%s: token %d, want %d", c.claim, token, c.token)
		}
		if low := LowestGrant(c.votes); int64(low) != c.low {
			t.Errorf("%s: the lowest is %d, want %d", c.claim, low, c.low)
		}
		ballot := Standings(c.votes, token)
		if got := Decide(ballot, testvotes.MajorityOf(len(c.votes))); got != c.confirmed {
			t.Errorf("%s: %v, want %v", c.claim, got, c.confirmed)
		}
		ask := 0
		for _, v := range ballot {
			if !v.Answered {
				ask++
			}
		}
		if ask != c.ask {
			t.Errorf("%s: %d to confirm, want %d", c.claim, ask, c.ask)
		}
	}
}
