package membership

import (
	"errors"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// step is one of the types below, or done{} or waitFor{} (see changes.go).
type step any

type (
	// finish: propose a table once more, unchanged, if its version is not known to be committed.
	finish struct{}

	// adopt: let a durable server keep its id after a restart. A server that was a replica since the
	// restart may not keep its id: then the step only notes this in the register.
	adopt struct{ master int }

	// note: if weak is true, stop the vote of a durable member, because its settings are no longer
	// durable. If weak is false, let the member vote again.
	note struct {
		master int
		weak   bool
	}

	// enroll: give a new id to a server that the view does not list.
	enroll struct{ master int }

	// syncCounters: raise each counter of a new member to the highest value that a quorum has for it.
	syncCounters struct{ master int }

	// propose: change the view's table to another.
	propose struct{ table *Table }

	// remove: remove the member. Before that, raise each counter of the members that stay to the
	// highest value that a quorum has for it.
	remove struct{ id string }

	// relook: look at all masters once more.
	relook struct{}

	// nothing: take no step, and look again after the time in wait; 0 means never. The field at lists
	// the masters to look at; nil means all masters.
	nothing struct {
		wait time.Duration
		at   []int
	}
)

const (
	// lookAgain is the time between two looks at a member for which no step is possible now.
	lookAgain = 2 * time.Second

	// settled is the time for which a server must have been up before clients give it the place of a
	// member. A sixth of the quarantine is enough, if that is shorter.
	settled = 10 * time.Second

	// settingsAgain is the time between two looks at the settings of durable members. A master itself
	// checks only whether the AOF is on.
	settingsAgain = 5 * time.Minute
)

// next returns the next step that a client takes without an operator. It is the first step of this list
// that is needed and possible: let durable servers keep their ids; note lost durability on the servers;
// finish a change that was begun; change the table for members that lost their durability; replace
// members that lost their data; give new members their counters; let new members vote.
func (w world) next() step {
	if i, soon := w.returning(); i >= 0 {
		return adopt{i}
	} else if soon {
		return relook{}
	}
	for i, m := range w.masters {
		if m.report != nil && m.report.toNote() && w.able(i) {
			return note{i, !m.report.noted}
		}
	}
	if w.uncommitted {
		return finish{}
	}
	if w.view == nil {
		return nothing{}
	}
	wait, t := time.Duration(0), w.view.Table
	if next := w.withoutWeakened(); next != nil {
		if w.mayChange() {
			return propose{next}
		}
		wait = lookAgain
	}
	for _, m := range t.Members {
		i := w.successor(m)
		if i < 0 {
			continue
		}
		next := t.next()
		*next.find(m.ID) = Member{ID: w.masters[i].report.id, State: New, Address: m.Address, Durable: w.masters[i].report.durable == durable}
		switch settles := w.settles(i); {
		case settles > 0:
			wait = shorterWait(wait, settles)
		case !w.able(i), w.masters[i].name != m.Address && !w.canSpare(m): // the name may be wrong
			wait = lookAgain
		case !w.masters[i].report.isNew():
			return enroll{i}
		case !w.mayChange():
			wait = lookAgain
		default:
			return propose{next}
		}
	}
	lacking, ready := w.newMembers()
	if len(lacking) > 0 {
		if len(w.sources()) >= t.Quorum() {
			return syncCounters{lacking[0]}
		}
		wait = lookAgain
	}
	if ready != nil {
		left, estimate, _ := w.quarantine()
		if left <= 0 {
			return propose{ready}
		}
		wait = shorterWait(wait, estimate)
	} else if slices.ContainsFunc(t.Members, func(m Member) bool { return m.State == New }) {
		wait = lookAgain
	}
	return w.idle(wait)
}

// idle returns when to look again, and at which masters, if there is no step to take. The parameter wait
// is the longest time until the next look at all masters; 0 if no such look is needed yet.
func (w world) idle(wait time.Duration) nothing {
	votes := 0
	var strange []int // masters that are not admitted: the name of such a master may soon lead to another server
	for i, m := range w.masters {
		r := m.report
		switch {
		case r == nil:
		case r.claim != "", !r.intact() && w.place(i) != nil: // the client is not notified when an init is finished
			wait = shorterWait(wait, lookAgain)
		case r.deployment == w.view.Deployment && w.view.Table.stateOf(r.id) == Voting:
			votes++
		}
		if errors.Is(w.view.Out[i], ErrNotAdmitted) {
			strange = append(strange, i)
		}
	}
	if votes < w.view.Table.Quorum() {
		wait = shorterWait(wait, lookAgain)
	}
	if strange != nil && (wait == 0 || wait > lookAgain) {
		return nothing{lookAgain, strange}
	}
	if wait == 0 && slices.ContainsFunc(w.view.Table.Members, func(m Member) bool { return m.Durable }) {
		wait = settingsAgain
	}
	return nothing{wait: wait}
}

// shorterWait returns the shorter of two waits; 0 is a wait without end.
func shorterWait(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// able reports whether steps at the master are allowed: no step has failed there lately.
func (w world) able(master int) bool { return !w.now.Before(w.masters[master].unable) }

// settles returns how much longer a master's server must be up before it gets the place of a member. A
// server that was started by mistake, without the member's data, may soon be stopped again.
func (w world) settles(master int) time.Duration {
	m := w.masters[master]
	return min(settled, w.view.Table.Quarantine()/6) - max(m.report.up, w.now.Sub(m.runAt))
}

// canSpare reports whether the deployment can do without m's vote. If a wrong name led to a wrong
// server, a change would cost this vote. Of the other members, a quorum and one more must vote and
// answer. If there are not so many others, all of them must vote and answer, and must be a quorum.
func (w world) canSpare(m Member) bool {
	t := w.view.Table
	others := w.distinct(func(r *report) bool { return r.id != m.ID && t.stateOf(r.id) == Voting })
	return len(others) >= max(t.Quorum(), min(t.Quorum()+1, len(t.Members)-1))
}

// withoutWeakened returns the next table, in which the weakened members are not durable. It returns nil
// if no member is weakened. Until this table is committed, weakened members take no part in changes,
// because they may lose what they accept.
func (w world) withoutWeakened() (next *Table) {
	for _, m := range w.masters {
		r := m.report
		if r == nil || !r.weakened() || r.deployment != w.view.Deployment || !w.view.Table.isDurable(r.id) {
			continue
		}
		if next == nil {
			next = w.view.Table.next()
		}
		next.find(r.id).Durable = false
	}
	return next
}

// returning returns a master for the step adopt; -1 if there is none. soon is true if a server can
// probably keep its id, but the other servers must report once more first.
//
// The server's own table may be out of date: a quorum without this server may have accepted a change
// that ended its durability. So the server must be durable in the newest table of all servers that kept
// their data. A majority of the table's members must have kept their data. Unless the table is known to
// be committed, a majority of the previous table's members must have kept their data, too. Reports of
// other servers count only if the client asked for them after it saw the restart, because older reports
// may lack the table that ended the server's durability.
func (w world) returning() (master int, soon bool) {
	for i, m := range w.masters {
		r := m.report
		if r == nil || !w.able(i) {
			continue
		}
		if r.doubtful() {
			return i, false
		}
		if !r.returns() || !w.mayReturn(r, 0) {
			continue
		}
		if w.mayReturn(r, m.runAt) {
			return i, false
		}
		soon = true
	}
	return -1, soon
}

// mayReturn reports whether the server with the report r may keep its id. A report of another server
// counts only if the client asked for this report at an instant (since), or later.
func (w world) mayReturn(r *report, since clock.Instant) bool {
	version, t, committed := r.version, r.table, false
	if v := w.view; v != nil && v.Deployment == r.deployment && v.Version >= version {
		version, t, committed = v.Version, v.Table, true
	}
	var kept []*report
	for _, m := range w.masters {
		other := m.report
		if other == nil || other.deployment != r.deployment || other.table == nil || other != r && other.asked.Before(since) || !other.intact() && !other.returns() {
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

// newMembers examines the new members. lacking has the masters of new members that may get their counters
// now. ready is the next table, in which new members with counters vote; nil if no new member has counters.
func (w world) newMembers() (lacking []int, ready *Table) {
	for i, m := range w.masters {
		r := m.report
		switch {
		case !r.intact() || w.view.Table.stateOf(r.id) != New:
		case r.synced == "" && w.able(i):
			lacking = append(lacking, i)
		case r.synced != "":
			if ready == nil {
				ready = w.view.Table.next()
			}
			ready.find(r.id).State = Voting
		}
	}
	return lacking, ready
}

// quarantine returns the rest of the view's quarantine. left is the rest at the time of the members'
// reports. estimate is the rest now, by this client's clock. known is false if too few members reported.
// The quarantine is over when a quorum of members has known for long enough (Table.Quarantine) that
// the version is committed, each by its own clock.
func (w world) quarantine() (left, estimate time.Duration, known bool) {
	var reported, since []time.Duration
	for _, i := range w.members() {
		if r := w.masters[i].report; r.version == w.view.Version && r.learned && r.known >= 0 {
			reported, since = append(reported, r.known), append(since, r.known+w.now.Sub(r.asked))
		}
	}
	most, quorum := w.view.Table.Quarantine(), w.view.Table.Quorum()
	if len(reported) < quorum {
		return most, lookAgain, false
	}
	return most - knownFor(reported, quorum), max(most-knownFor(since, quorum), time.Millisecond), true
}

// knownFor returns for how long a quorum of members has known that the version is committed. known has
// each member's time. Longer times of a minority do not count, because the minority's clocks may have
// been set forward.
func knownFor(known []time.Duration, quorum int) time.Duration {
	return slices.Sorted(slices.Values(known))[len(known)-quorum]
}
