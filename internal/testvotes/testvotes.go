// Package testvotes has votes and views for tests.
package testvotes

import (
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// Of returns a vote for each letter of s: g granted, h held, r refused, u unknown, n "not yours", . pending.
func Of(s string) []script.Vote {
	votes := make([]script.Vote, len(s))
	for i, c := range s {
		switch c {
		case 'g':
			votes[i] = script.Vote{Answered: true, Answer: script.Granted, Grant: 7}
		case 'h':
			votes[i] = script.Vote{Answered: true, Answer: script.Held, Remaining: time.Duration(i+1) * time.Second}
		case 'r':
			votes[i] = script.Vote{Answered: true, Answer: script.Refused, Err: script.ErrNotMember}
		case 'u':
			votes[i] = script.Vote{Answered: true, Answer: script.Unknown, Err: errors.New("no answer")}
		case 'n':
			votes[i] = script.Vote{Answered: true, Answer: script.Refused, Err: script.ErrNotMine}
		}
	}
	return votes
}

// NotMine returns the answer that the lock belongs to another owner.
func NotMine(at clock.Instant) script.Vote {
	return script.Vote{Answered: true, Answer: script.Refused, Err: script.ErrNotMine, Sent: at, Got: at}
}

// ViewOfAll returns a view in which n masters are the members, and all vote.
func ViewOfAll(n int) *membership.View {
	t := &membership.Table{MaxTTL: time.Minute.Milliseconds(), Drift: 0.01}
	for i := range n {
		t.Members = append(t.Members, membership.Member{ID: fmt.Sprint(i), State: membership.Voting})
	}
	v := &membership.View{Version: "1", Table: t, Out: make([]error, n), IDs: make([]string, n)}
	for i, m := range t.Members {
		v.IDs[i] = m.ID
	}
	return v
}

// MajorityOf returns the least majority of n.
func MajorityOf(n int) int { return n/2 + 1 }
