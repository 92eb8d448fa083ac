package register

import "fmt"

const (
	maxWeakens  = 2
	maxRestarts = 2
)

// durability is rule R6: which servers keep their ids when they restart. It is part of changing.
type durability struct {
	// Silent: a weakened member does not vote until it has accepted a table by which it is not durable. 0: a
	// weakened member votes.
	Silent int `full:"1"`
	// Aside: a weakened member does not promise, or accept a proposed table, and its counters are not raised.
	// It accepts only tables that were committed without it. 0: it acts like other members.
	Aside int `full:"1"`
	// Adopt: a server that restarted keeps its id under three conditions. It is durable by the newest table that
	// the client found. A majority of this table's members have kept their data. A majority of the previous
	// members have, too, or the table is known to be committed. 2: the third condition is dropped. 1: instead of
	// the last two, one other member must have kept its data. 0: the server need only be durable by its own table.
	Adopt int `full:"3"`
	// Judge: a member that restarted has kept its data only if it is durable by the newest table that the
	// client found. 0: the member's own table decides this.
	Judge int `full:"1"`
	// After: the client asks the other members after it has seen the server's new run. 0: it may ask them earlier.
	After int `full:"1"`
	// Run: a server keeps its id only in the run that the client saw. 0: in a later run, too.
	Run int `full:"1"`
	// Forever: an id that is not durable never becomes durable again. 0: it may, while the server saves its
	// data to disk.
	Forever int `full:"1"`

	Weakens  int `bound:"0"` // times that a server stops saving its data to disk
	Mends    int `bound:"0"` // times that such a server saves all its data again
	Restarts int `bound:"0"` // times that a server restarts with what it has saved
	Volatile int `bound:"0"` // how many of the Members are not durable: the last ones
}

// writing records which servers do not save their data to disk, and which servers restarted. It is part of fleet.
type writing struct {
	weak      ids               // the servers that do not save their data
	out       ids               // the servers that restarted, and do not have their id back yet
	stopped   [maxWeakens]uint8 // the servers that stopped saving their data, in order
	stops     uint8             // their number
	mends     uint8
	restarted [maxRestarts]uint8 // the servers that restarted, in order
	restarts  uint8              // their number
	again     ids                // the ids that became durable again
	look      look
}

// look is what a client knows when it decides whether a server keeps its id.
type look struct {
	target uint8 // the server, counted from 1; 0: no client looks
	run    uint8 // the server's run; 0: not known yet
	kept   ids   // the ids of members that did not restart
	back   ids   // the ids of members that restarted
	found  uint8 // the newest version that these members or the server accepted
}

// run returns the number of a server's run, from 1.
func (w *writing) run(server uint8) uint8 {
	for i := w.restarts; i > 0; i-- {
		if w.restarted[i-1] == server {
			return i + 1
		}
	}
	return 1
}

// disk returns the index, in the field disk of the state, of the data that a server has on its disk.
func (w *writing) disk(server uint8) uint8 {
	i := w.stops
	for i > 0 && w.stopped[i-1] != server {
		i--
	}
	return i - 1
}

// weakened reports whether server i is durable by the table that it accepted, but does not save its data to disk.
func (c *changing) weakened(f *fleet, i uint8, accepted *table) bool {
	return f.weak.has(i) && !accepted.volatile.has(f.id[i])
}

// mayStop reports whether server i may stop saving its data to disk.
func (c *changing) mayStop(f *fleet, i uint8) bool {
	return int(f.stops) < c.Weakens && c.first(f, i) && !f.weak.has(i) && !f.out.has(i)
}

func (f *fleet) stop(i uint8) (disk uint8) {
	f.weak |= one(i)
	f.stopped[f.stops] = i
	f.stops++
	return f.stops - 1
}

func (c *changing) mayRestart(f *fleet, i uint8) bool {
	return int(f.restarts) < c.Restarts && c.first(f, i)
}

func (f *fleet) restart(i uint8) {
	f.restarted[f.restarts] = i
	f.restarts++
	f.weak &^= one(i)
	f.out |= one(i)
}

// known is a version, in a form that is common to the models tokens and exclusion.
type known struct {
	table     table
	prev      ids
	committed bool // there is evidence of the commit
}

// looks calls to() for each step by which a client decides whether a server keeps its id: a server reports to
// this client, or the client decides that the server keeps its id.
func (c *changing) looks(f *fleet, accepted func(i uint8) uint8, of func(version uint8) known, to func(f *fleet, kind, a, b uint8)) {
	if c.Restarts == 0 || c.After == 1 && f.out == 0 {
		return
	}
	for i := range c.servers() {
		for target := range c.servers() {
			if c.mayLook(f, i, target) {
				next := *f
				if c.After == 1 && i == target {
					next.look = look{}
				}
				l := &next.look
				l.target = target + 1
				if i == target {
					l.run = f.run(i)
				}
				at := accepted(i)
				switch {
				case !f.out.has(i):
					l.kept |= one(f.id[i])
				case c.Judge == 1 || at != 0 && !of(at).table.volatile.has(f.id[i]):
					l.back |= one(f.id[i])
				}
				l.found = max(l.found, at)
				to(&next, report, i, target)
			}
		}
		if f.out.has(i) && c.adoptable(f, i, accepted, of) {
			next := *f
			next.out &^= one(i)
			to(&next, adopt, i, 0)
		}
	}
}

func (c *changing) mayLook(f *fleet, i, target uint8) bool {
	l := &f.look
	seen := (l.kept | l.back).has(f.id[i])
	if i == target {
		mine := l.target == i+1
		return f.out.has(i) && c.Adopt > 0 && (mine && l.run != f.run(i) || !mine && (c.After == 1 || l.target == 0))
	}
	return !seen && (l.target == target+1 || c.After == 0 && l.target == 0 && c.first(f, target))
}

// adoptable reports whether server i, which restarted, may keep its id. The reports that the client got decide this.
func (c *changing) adoptable(f *fleet, i uint8, accepted func(i uint8) uint8, of func(version uint8) known) bool {
	l, id := &f.look, f.id[i]
	if c.Adopt == 0 {
		t := of(accepted(i)).table
		return t.members().has(id) && !t.volatile.has(id)
	}
	if l.target != i+1 || l.run == 0 || c.Run == 1 && l.run != f.run(i) || l.found == 0 {
		return false
	}
	v := of(l.found)
	kept := l.kept | l.back
	if c.Judge == 1 {
		kept = l.kept | l.back&v.table.members()&^v.table.volatile
	}
	if !v.table.members().has(id) || v.table.volatile.has(id) {
		return false
	}
	switch c.Adopt {
	case 1:
		return kept.len() > 1
	case 2:
		return kept.majorityOf(v.table.members())
	}
	return kept.majorityOf(v.table.members()) && (v.committed || kept.majorityOf(v.prev))
}

// durables calls to() for each change of durability. A change ends the durability of one member that does not
// save its data, or of all such members at once. With FOREVER=0, a member may become durable again.
func (c *changing) durables(f *fleet, t table, to func(t table, f *fleet, change, id uint8)) {
	var weak ids
	for i := range c.servers() {
		if id := f.id[i]; f.weak.has(i) && t.members().has(id) && !t.volatile.has(id) {
			weak |= one(id)
			changed := t
			changed.volatile |= one(id)
			to(changed, f, notDurable, id)
		}
		if id := f.id[i]; c.Forever == 0 && !f.weak.has(i) && !f.out.has(i) && t.volatile.has(id) && !f.again.has(id) {
			next := *f
			next.again |= one(id)
			changed := t
			changed.volatile &^= one(id)
			to(changed, &next, durableAgain, id)
		}
	}
	if weak.len() > 1 {
		t.volatile |= weak
		to(t, f, notDurable, weak.lowest())
	}
}

// describeDurability returns the text of a step of rule R6.
func describeDurability(kind, a, b uint8) string {
	switch kind {
	case stop:
		return fmt.Sprintf("%s stops writing", name(a))
	case mend:
		return fmt.Sprintf("%s writes again, and all that it has", name(a))
	case restart:
		return fmt.Sprintf("%s restarts with what it has written", name(a))
	case report:
		return fmt.Sprintf("whether %s keeps its id: %s reports", name(b), name(a))
	case adopt:
		return fmt.Sprintf("%s keeps its id", name(a))
	}
	return ""
}

// The steps of rule R6. Their numbers are above those of the models' own steps.
const (
	stop = iota + 100
	mend
	restart
	report
	adopt
)
