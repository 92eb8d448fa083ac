package membership

import (
	"errors"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// situation is what the next step is decided on: what is known, and what the servers of the
// client's masters report (nil: nothing now).
type situation struct {
	view        *View // nil: no version is known to be committed
	highest     string
	uncommitted string // the highest version that a server has accepted, if it is not known to be committed
	names       []string
	seen        []string // by master: the address of the member that was behind it last; nil: nowhere
	reports     []*report
	runs        []run  // by master: the process that it leads to; nil: not known
	unable      []bool // by master: a step failed there lately; nil: nowhere
}

func (s situation) isUnable(master int) bool { return s.unable != nil && s.unable[master] }

// step is one of those below.
type step any

type (
	// finish: propose the uncommitted version again, as it is.
	finish struct{ version string }

	// adopt: let the durable server of a master, which restarted, keep its id; or note that it was
	// a replica, and may not.
	adopt struct{ master int }

	// note: have a durable member vote no more as its settings are not durable, or again as they
	// are.
	note struct {
		master int
		weak   bool
	}

	// relook: ask all masters once more.
	relook struct{}

	// enroll: give the server of a master a new id.
	enroll struct {
		master int
		view   *View // which does not list it
	}

	// syncCounters: raise the counters of a new member to those of a quorum.
	syncCounters struct {
		master int
		view   *View
	}

	// promote: let the new members vote that may, as soon as the quarantine is over. Those that
	// lack their counters get them first.
	promote struct{ view *View }

	// propose: change the view's table to another.
	propose struct {
		view  *View
		table *Table
	}

	// nothing is to be done, but to look again after so long (0: for good).
	nothing struct{ wait time.Duration }
)

const (
	// lookAgain is how often a client looks at members that it cannot help now.
	lookAgain = 2 * time.Second

	// settingsAgain is how often a client looks whether durable members still are, by settings
	// that no master looks at by itself.
	settingsAgain = 5 * time.Minute
)

// next returns what any client does by itself: it lets durable servers keep their ids, finishes
// what was begun, notes which members are not durable any more, gives the place of a member that
// lost its data to the server at its address, and lets new members vote.
func (s situation) next() step {
	if i, soon := s.returning(); i >= 0 {
		return adopt{i}
	} else if soon {
		return relook{}
	}
	for i, r := range s.reports {
		if r != nil && r.toNote() && !s.isUnable(i) {
			return note{i, !r.noted}
		}
	}
	if s.uncommitted != "" {
		return finish{s.uncommitted}
	}
	v := s.view
	if v == nil {
		return nothing{}
	}
	wait := time.Duration(0)
	if next := s.withoutWeakened(); next != nil {
		if s.mayChange() {
			return propose{v, next}
		}
		wait = lookAgain
	}
	for _, m := range v.Table.Members {
		i := s.successor(m)
		if i < 0 {
			continue
		}
		next := v.Table.next()
		*next.find(m.ID) = Member{ID: s.reports[i].id, State: New, Address: m.Address, Durable: s.reports[i].durable == durable}
		switch {
		case s.isUnable(i), s.names[i] != m.Address && next.enough("") != nil: // the name may be wrong
			wait = lookAgain
		case !s.reports[i].isNew():
			return enroll{i, v}
		case !s.mayChange():
			wait = lookAgain
		default:
			return propose{v, next}
		}
	}
	lacking, ready := s.newMembers()
	switch {
	case ready > 0:
		return promote{v}
	case len(lacking) > 0 && len(s.sources(v)) >= v.Table.Quorum():
		return syncCounters{lacking[0], v}
	}
	if slices.ContainsFunc(v.Table.Members, func(m Member) bool { return m.State == New }) {
		wait = lookAgain
	}
	votes := 0
	for _, r := range s.reports {
		switch {
		case r == nil:
		case !r.intact(), r.claim != "": // also an init that was not finished: nothing tells when it is
			wait = lookAgain
		case r.deployment == v.Deployment && v.Table.stateOf(r.id) == Voting:
			votes++
		}
	}
	notAdmitted := func(out error) bool { return errors.Is(out, ErrNotAdmitted) } // its name may lead to another server soon
	if votes < v.Table.Quorum() || slices.ContainsFunc(v.Out, notAdmitted) {
		wait = lookAgain
	}
	if wait == 0 && slices.ContainsFunc(v.Table.Members, func(m Member) bool { return m.Durable }) {
		wait = settingsAgain
	}
	return nothing{wait}
}

// mayChange reports whether so many members answer that they can promise a change. Without them, a
// proposal comes to nothing, and those that promise it refuse what another client proposes
// meanwhile.
func (s situation) mayChange() bool {
	may := s.distinct(func(r *report) bool {
		return r.deployment == s.view.Deployment && s.view.Table.find(r.id) != nil && !r.weakened()
	})
	return len(may) >= s.view.Table.Quorum()
}

// withoutWeakened returns the table in which the members that are weakened are not durable; nil if
// none is. Until it is committed, these take no part in changes: what they accept, they may forget.
func (s situation) withoutWeakened() (next *Table) {
	for _, r := range s.reports {
		if r == nil || !r.weakened() || r.deployment != s.view.Deployment || !s.view.Table.isDurable(r.id) {
			continue
		}
		if next == nil {
			next = s.view.Table.next()
		}
		next.find(r.id).Durable = false
	}
	return next
}

// returning returns a master whose server restarted and may keep its id; -1 if there is none. soon
// reports that one may, if the others report again what they reported before.
//
// What the server itself has on disk may be older than the change by which it is not durable any
// more. That change was accepted by a quorum of members, this one not among them. So the server
// keeps its id if a quorum of members, this one among them, has kept its data, and by the newest
// table that they have it is durable; and a majority of the table before that, unless it is known
// to be committed. The others must have been asked after it was seen to have restarted: until then
// it may have voted.
func (s situation) returning() (master int, soon bool) {
	for i, r := range s.reports {
		if r == nil || s.isUnable(i) {
			continue
		}
		if r.doubtful() {
			return i, false
		}
		if !r.returns() || !s.mayReturn(r, func(*report) bool { return true }) {
			continue
		}
		if s.mayReturn(r, func(other *report) bool { return other == r || !other.asked.Before(s.seenRun(i)) }) {
			return i, false
		}
		soon = true
	}
	return -1, soon
}

// seenRun is when the process that a master leads to was seen first.
func (s situation) seenRun(master int) clock.Instant {
	if s.runs == nil {
		return 0
	}
	return s.runs[master].since
}

// mayReturn reports that a server may keep its id, as far as the reports that count say.
func (s situation) mayReturn(r *report, counts func(*report) bool) bool {
	version, t, committed := r.version, r.table, false
	if v := s.view; v != nil && v.Deployment == r.deployment && v.Version >= version {
		version, t, committed = v.Version, v.Table, true
	}
	var kept []*report
	for _, other := range s.reports {
		if other == nil || other.deployment != r.deployment || other.table == nil || !counts(other) || !other.intact() && !other.returns() {
			continue
		}
		kept = append(kept, other)
		if other.version > version {
			version, t, committed = other.version, other.table, false
		}
	}
	ids := map[string]bool{}
	for _, other := range kept {
		committed = committed || other.version == version && other.learned
		ids[other.id] = ids[other.id] || other.intact() || t.isDurable(other.id)
	}
	return t.isDurable(r.id) && majority(t.ids(), ids) && (committed || majority(t.Prev, ids))
}

// successor returns the master that leads to a member that no server is, whose server is free to
// take its place; -1 if there is none.
func (s situation) successor(m Member) int {
	return s.forgotten(m, func(i int) bool { return s.mayTake(i, &m) })
}

// mayTake reports that a server that is no member may take the place of m. One whose own place was
// given to another while it had lost nothing takes a place only at the address of that: by other
// names two clients could take two servers for a member, in turn.
func (s situation) mayTake(i int, m *Member) bool {
	r := s.reports[i]
	switch {
	case m == nil || r.intact() && s.view.Table.find(r.id) != nil:
		return false
	case s.names[i] == m.Address:
		return true
	}
	return !r.intact() || r.isNew()
}

// forgotten returns the master that leads to a member that no server is, whose server has lost the
// member's data and of which this is true; -1 if there is none.
func (s situation) forgotten(m Member, is func(master int) bool) int {
	if s.serving(m.ID) >= 0 {
		return -1
	}
	other := -1
	for i, r := range s.reports {
		if r == nil || r.bad != nil || r.claim != "" || r.returns() && s.view.Table.isDurable(r.id) || r.deployment != "" && r.deployment != s.view.Deployment || !is(i) {
			continue
		}
		if s.names[i] == m.Address {
			return i
		}
		if place := s.place(i); other < 0 && place != nil && place.ID == m.ID {
			other = i
		}
	}
	return other
}

// serving returns the master whose server is the member; -1 if there is none.
func (s situation) serving(id string) int {
	for i, r := range s.reports {
		if r != nil && r.intact() && r.id == id {
			return i
		}
	}
	return -1
}

// newMembers returns the masters that are new members, lack their counters and may get them, and
// how many have them.
func (s situation) newMembers() (lacking []int, ready int) {
	for i, r := range s.reports {
		switch {
		case r == nil || !r.intact() || s.view.Table.stateOf(r.id) != New:
		case r.synced == "" && !s.isUnable(i):
			lacking = append(lacking, i)
		case r.synced == "":
		default:
			ready++
		}
	}
	return lacking, ready
}

// distinct returns a master for each member whose server is intact and of which this is true. A
// server under two addresses is one member: counted twice, one server could be a quorum.
func (s situation) distinct(is func(r *report) bool) (masters []int) {
	seen := map[string]bool{}
	for i, r := range s.reports {
		if r != nil && r.intact() && !seen[r.id] && is(r) {
			seen[r.id] = true
			masters = append(masters, i)
		}
	}
	return masters
}

// members returns the masters of the members in the view's table.
func (s situation) members(v *View) []int {
	return s.distinct(func(r *report) bool { return r.deployment == v.Deployment && v.Table.find(r.id) != nil })
}

// sources returns the masters of the members that can tell the counters at the view's version.
func (s situation) sources(v *View) []int {
	return s.distinct(func(r *report) bool { return r.tells(v) })
}

// staying returns the masters of the members at the view's version that vote, and will in the table
// after it.
func (s situation) staying(v *View, next *Table) []int {
	return s.distinct(func(r *report) bool { return r.version == v.Version && next.stateOf(r.id) == Voting })
}

// tells reports that the server's counters at the view's version are complete.
func (r *report) tells(v *View) bool {
	if r == nil || !r.intact() || r.version != v.Version {
		return false
	}
	state := v.Table.stateOf(r.id)
	return state == Voting || state == Suspended
}
