package register

import (
	"fmt"
	"strings"
)

const (
	maxFleet  = 7 // servers
	maxLosses = 2
)

// fleet has the member id of each server, and counts the events of the servers. It is part of the
// states of tokens and exclusion.
type fleet struct {
	id     [maxFleet]uint8  // the member id that each server has now
	lost   [maxLosses]uint8 // the servers that lost data, in order: each got the next unused id
	losses uint8
	// the numbers of changes that were decided:
	replaces, adds, suspends, removes uint8
	misled, strays                    uint8 // strays: how many of the misled changes made a spare a member
	writing
}

// changing is rule R3: the changes of a table. It is part of the models tokens and exclusion.
type changing struct {
	durability

	// New: a member that takes another member's place, or is added, is new at first. 0: this member is
	// voting at once.
	New int `full:"1"`
	// Void: a server that lost any of its data has a new id, because the old id is void. 0: the server
	// keeps the old id.
	Void int `full:"1"`
	// Guard: after a replacement, suspension or addition, a quorum is voting. 0: fewer members may be voting.
	Guard int `full:"1"`
	// Removable: a member is removed only when it is suspended or new. 0: a voting member may be removed, too.
	Removable int `full:"1"`
	// Once: a server has at most one place in a table. 0: a member may take another member's place, too.
	Once int `full:"1"`

	Members   int `bound:"3"` // members of the first table
	Newcomers int `bound:"0"` // how many of the Members are new: the last ones
	Spares    int `bound:"0"` // servers that are not in the first table
	Losses    int `bound:"0"` // times that a server loses data
	Replaces  int `bound:"0"` // members that an operator replaces with a spare
	Adds      int `bound:"0"`
	Suspends  int `bound:"0"`
	Removes   int `bound:"0"`
	Misled    int `bound:"0"` // times that a wrong name gives the place of any member to any server
	Several   int `bound:"0"` // 1: one change may make several new members voting
}

func (c *changing) servers() uint8 { return uint8(c.Members + c.Spares) }

func (c *changing) firstFleet() (f fleet) {
	for i := range c.servers() {
		f.id[i] = i
	}
	return f
}

func (c *changing) firstTable() table {
	all, old := one(uint8(c.Members))-1, one(uint8(c.Members-c.Newcomers))-1
	return table{voting: old, new: all &^ old, volatile: all &^ (one(uint8(c.Members-c.Volatile)) - 1)}
}

// server returns the server that has a member id now, or had it before.
func (c *changing) server(f *fleet, id uint8) uint8 {
	if id < c.servers() {
		return id
	}
	return f.lost[id-c.servers()]
}

func (c *changing) nameOf(f *fleet, id uint8) string {
	return name(c.server(f, id)) + strings.Repeat("'", c.times(f, id))
}

// times returns how often the server with this id had lost data when it got the id.
func (c *changing) times(f *fleet, id uint8) (n int) {
	for i := range f.losses {
		if c.servers()+i <= id && f.lost[i] == c.server(f, id) {
			n++
		}
	}
	return n
}

// first reports whether an event may happen to a server. Servers that are voting and durable are alike until
// the first event. So, of these servers, only the last one may have the first event.
func (c *changing) first(f *fleet, server uint8) bool {
	touched := f.losses + f.replaces + f.suspends + f.removes + f.misled + f.stops + f.restarts
	return touched > 0 || int(server) >= c.Members-c.Newcomers-c.Volatile-1
}

// lose gives a server that lost data its new id.
func (c *changing) lose(f *fleet, server uint8) {
	f.lost[f.losses] = server
	if c.Void == 1 {
		f.id[server] = c.servers() + f.losses
	}
	f.losses++
	f.out &^= one(server)
}

// The changes of a table.
const (
	unchanged = iota
	replaceLost
	replace
	mislead
	add
	suspend
	resume
	remove
	makeVoting
	notDurable
	durableAgain
)

// each calls to() for every change of table t. The set ready has the members that may become voting. The set
// removable has the members that may be removed.
func (c *changing) each(f *fleet, t table, ready, removable ids, to func(t table, f *fleet, change, id uint8)) {
	for id := range uint8(maxIDs) {
		if t.members().has(id) {
			c.ofMember(f, t, id, removable, to)
		}
	}
	if some := t.new & ready; some != 0 {
		c.toVoting(f, t, some, to)
	}
	c.durables(f, t, to)
	if spare, ok := c.spare(f); ok && int(f.adds) < c.Adds && c.guarded(t.voting, t.members()|one(spare)) {
		next := *f
		next.adds++
		to(c.join(f, t, spare), &next, add, spare)
	}
}

// ofMember calls to() for each change of one member.
func (c *changing) ofMember(f *fleet, t table, id uint8, removable ids, to func(t table, f *fleet, change, id uint8)) {
	server := c.server(f, id)
	for i := range f.losses {
		if newer := c.servers() + i; c.Void == 1 && newer > id && f.lost[i] == server && !t.members().has(newer) {
			to(c.join(f, t.without(id), newer), f, replaceLost, newer)
		}
	}
	c.byName(f, t, id, to)
	if t.suspended.has(id) {
		to(t.makeVoting(one(id)), f, resume, id)
	}
	if !c.first(f, server) {
		return
	}
	next := *f
	if spare, ok := c.spare(f); ok && int(f.replaces) < c.Replaces && c.guarded(t.voting&^one(id), t.members()) {
		next.replaces = f.replaces + 1
		to(c.join(f, t.without(id), spare), &next, replace, spare)
		next.replaces = f.replaces
	}
	if t.voting.has(id) && int(f.suspends) < c.Suspends && c.guarded(t.voting&^one(id), t.members()) {
		next.suspends = f.suspends + 1
		to(t.suspend(id), &next, suspend, id)
		next.suspends = f.suspends
	}
	if (c.Removable == 0 || !t.voting.has(id)) && int(f.removes) < c.Removes && removable.has(id) && t.members() != one(id) {
		next.removes = f.removes + 1
		to(t.without(id), &next, remove, id)
	}
}

// byName calls to() for each change by a misled client: a member's name leads the client to another server,
// and the client gives the member's place to this other server. The member may still be alive. Other clients,
// misled by other names, may give another member's place to the same server.
func (c *changing) byName(f *fleet, t table, id uint8, to func(t table, f *fleet, change, id uint8)) {
	if int(f.misled) >= c.Misled || !c.first(f, c.server(f, id)) {
		return
	}
	next := *f
	next.misled++
	take := func(server uint8) {
		other := f.id[server]
		if other == id || c.Once == 1 && t.members().has(other) {
			return
		}
		after := t.without(id)
		if !t.members().has(other) {
			after = c.join(f, after, other)
		}
		if c.guarded(after.voting, after.members()) {
			to(after, &next, mislead, other)
		}
	}
	for server := range uint8(c.Members) {
		take(server)
	}
	if spare, ok := c.spare(f); ok {
		next.strays++
		take(spare)
	}
}

// toVoting calls to() for each change that makes members voting: one member of the set ready, or several at once.
func (c *changing) toVoting(f *fleet, t table, ready ids, to func(t table, f *fleet, change, id uint8)) {
	for some := ready; some != 0; some = (some - 1) & ready {
		if c.Several == 1 || some.len() == 1 {
			to(t.makeVoting(some), f, makeVoting, some.lowest())
		}
	}
}

func (c *changing) guarded(voting, members ids) bool {
	return c.Guard == 0 || voting.majorityOf(members)
}

func (c *changing) join(f *fleet, t table, id uint8) table {
	if f.weak.has(c.server(f, id)) {
		t.volatile |= one(id)
	}
	if c.New == 0 {
		return t.makeVoting(one(id))
	}
	return t.addNew(id)
}

// spare returns the id of the next server that no table has listed.
func (c *changing) spare(f *fleet) (id uint8, ok bool) {
	next := uint8(c.Members) + f.replaces + f.adds + f.strays
	if next >= c.servers() {
		return 0, false
	}
	return f.id[next], true
}

// describe returns the text of a change and of the table t after it.
func (c *changing) describe(f *fleet, change, id uint8, t table) string {
	member := c.nameOf(f, id)
	what := [...]string{
		unchanged:   "the same table",
		replaceLost: "the lost id of " + name(c.server(f, id)) + " gives its place to " + member,
		replace:     member + " replaces a member",
		mislead:     member + " is taken for a member",
		add:         member + " is added",
		suspend:     member + " is suspended",
		resume:      member + " is resumed",
		remove:      member + " is removed",
		makeVoting:  "new members become voting",
		notDurable:  member + " is not durable any more",

		durableAgain: member + " is durable again",
	}[change]
	return fmt.Sprintf("%s: %s", what, t.text(func(id uint8) string { return c.nameOf(f, id) }))
}
