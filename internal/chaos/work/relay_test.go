package work

import (
	"testing"
	"time"
)

// Of two clients with a name of their own, one goes first in each turn, the same in all of its
// lives.
func TestTwoClientsTakeTurns(t *testing.T) {
	t.Parallel()
	relayOf := func(client, life int) *relay {
		return newRelay(worker{Settings: Settings{Number: client, Life: life, Names: []string{"n0"}, TTL: time.Second}})
	}
	one, other, again := relayOf(2, 1), relayOf(3, 1), relayOf(3, 2)
	if one.private != other.private || other.private != again.private || one.private == relayOf(4, 1).private {
		t.Errorf("the names are %s, %s, %s and %s", one.private, other.private, again.private, relayOf(4, 1).private)
	}
	for turn := range time.Duration(4) {
		if one.goesFirst(turn) == other.goesFirst(turn) || other.goesFirst(turn) != again.goesFirst(turn) || one.goesFirst(turn) == one.goesFirst(turn+1) {
			t.Errorf("turn %d: %v, %v, %v", turn, one.goesFirst(turn), other.goesFirst(turn), again.goesFirst(turn))
		}
	}
}
