package redlock

import (
	"fmt"

	"github.com/redlock-go/redlock/internal/membership"
)

// viewOfAll is a view in which n masters are the members, and all vote.
func viewOfAll(n int) *membership.View {
	t := &membership.Table{MaxTTL: DefaultMaxTTL.Milliseconds(), Drift: DefaultDrift}
	for i := range n {
		t.Members = append(t.Members, membership.Member{ID: fmt.Sprint(i), State: membership.Voting})
	}
	return &membership.View{Version: "1", Table: t, Out: make([]error, n)}
}

// majorityOf is how many of n are more than half.
func majorityOf(n int) int { return n/2 + 1 }
