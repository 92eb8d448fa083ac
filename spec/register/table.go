package register

import (
	"math/bits"
	"strings"
)

const maxIDs = 8

// ids is a set of member ids, or of servers.
type ids uint8

func one(id uint8) ids              { return 1 << id }
func (s ids) has(id uint8) bool     { return s&one(id) != 0 }
func (s ids) len() int              { return bits.OnesCount8(uint8(s)) }
func (s ids) majority() int         { return s.len()/2 + 1 }
func (s ids) lowest() uint8         { return uint8(bits.TrailingZeros8(uint8(s))) }
func (s ids) majorityOf(t ids) bool { return (s & t).len() >= t.majority() }

// table lists the members with their states.
type table struct {
	voting, new, suspended ids

	volatile ids // the members that are not durable
}

func (t table) members() ids { return t.voting | t.new | t.suspended }

// intact returns the members whose counters can be relied on.
func (t table) intact() ids { return t.voting | t.suspended }

func (t table) without(id uint8) table {
	return table{t.voting &^ one(id), t.new &^ one(id), t.suspended &^ one(id), t.volatile &^ one(id)}
}

func (t table) makeVoting(some ids) table {
	return table{t.voting | some, t.new &^ some, t.suspended &^ some, t.volatile}
}

func (t table) suspend(id uint8) table {
	return table{t.voting &^ one(id), t.new &^ one(id), t.suspended | one(id), t.volatile}
}

func (t table) addNew(id uint8) table {
	t.new |= one(id)
	return t
}

// text returns the members' names, with their states.
func (t table) text(name func(id uint8) string) string {
	var words []string
	for id := range uint8(maxIDs) {
		if !t.members().has(id) {
			continue
		}
		word := name(id)
		switch {
		case t.new.has(id):
			word += ":new"
		case t.suspended.has(id):
			word += ":suspended"
		}
		if t.volatile.has(id) {
			word += ":volatile"
		}
		words = append(words, word)
	}
	return "{" + strings.Join(words, " ") + "}"
}

// name returns the name of a server.
func name(server uint8) string { return string(rune('a' + server)) }
