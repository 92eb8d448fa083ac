package membership

import (
	"errors"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// step is one of the types below, or done or waitFor.
type step any

type (
	// finish: propose again, unchanged, the version that is not known to be committed.
	finish struct{}

	// adopt: let a master's durable server, which restarted, keep its id. If the server was a
	// replica, it may not keep the id: then the step only notes this.
	adopt struct{ master int }

	// note: stop the vote of a durable member whose settings are not durable, or restore the vote
	// when they are durable again.
	note struct {
		master int
		weak   bool
	}

	// enroll: give a new id to a master's server that the view does not list.
	enroll struct{ master int }

	// syncCounters: raise the counters of a new member to those of a quorum.
	syncCounters struct{ master int }

	// propose: change the view's table to another.
	propose struct{ table *Table }

	// remove: give the counters of a quorum to the members that stay, and remove this member.
	remove struct{ id string }

	// relook: look at all masters once more.
	relook struct{}

	// nothing: take no step, and look again after a while (0: never), at the listed masters, or at
	// all if none is listed.
	nothing struct {
		wait time.Duration
		at   []int
	}
)

const (
	// lookAgain is how often a client looks at members that it cannot help now.
	lookAgain = 2 * time.Second

	// settled is how long a server must have been up before clients give it the place of a member.
	// If the quarantine is short, the time is shorter.
	settled = 10 * time.Second

	// settingsAgain is how often a client checks the settings of durable members that no master
	// checks by itself.
	settingsAgain = 5 * time.Minute
)

// next returns the step that any client takes by itself. The steps have this order: let durable
// servers keep their ids; note lost durability on the servers; finish a change that was begun; change
// the table for members that lost durability; replace members that lost data; let new members vote.
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

// idle returns which masters to look at again, and when, if there is no step to take. wait is the time
// until next needs a look at all masters; 0: it needs none.
func (w world) idle(wait time.Duration) nothing {
	votes := 0
	var strange []int // masters that are not admitted: their names may soon lead to other servers
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

// settles returns for how long the server of a master must still be up before it gets the place of a
// member. A server that was started by mistake, without the member's data, may soon be stopped again.
func (w world) settles(master int) time.Duration {
	m := w.masters[master]
	return min(settled, w.view.Table.Quarantine()/6) - max(m.report.up, w.now.Sub(m.runAt))
}

// canSpare reports whether the other members can do without the vote of m, which a wrong name may
// cost. A quorum of them and one more must vote and answer, or all, if there are no more than that.
func (w world) canSpare(m Member) bool {
	t := w.view.Table
	others := w.distinct(func(r *report) bool { return r.id != m.ID && t.stateOf(r.id) == Voting })
	return len(others) >= max(t.Quorum(), min(t.Quorum()+1, len(t.Members)-1))
}

// withoutWeakened returns the table in which the weakened members are not durable; nil if no member
// is weakened. Until this table is committed, weakened members take no part in changes: they may lose
// what they accept.
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

// returning returns a master for the step adopt; -1 if there is none. soon reports whether a server
// may keep its id as soon as the others report again.
//
// The server's own table may be older than the change that ended its durability. A quorum of members
// without this server accepted that change. So the newest table of the servers that kept their data
// decides: the server must be durable in it, and a majority of its members must have kept their data.
// Unless this table is known to be committed, a majority of the previous table's members must have
// kept their data, too. Reports of other servers count only if the client asked for them after it saw
// the restart, because the server may have voted until then.
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

// mayReturn reports whether the server of the report r may keep its id. Reports of other servers do not
// count if they were asked for before since.
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

// newMembers returns, as lacking, the masters of the new members that lack counters and may get them now.
// ready is the table in which all new members with counters vote; nil if no new member has its counters.
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

// quarantine returns the rest of the view's quarantine. left is the rest when the members reported.
// estimate is the rest now, by this client's clock. known is false if too few members reported. The
// quarantine ends when a quorum of members, each by its own clock, has known for Table.Quarantine
// that the version is committed.
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

// knownFor returns the longest time for which a quorum of members has known that the version is
// committed. known has the time of each member. A minority may report a longer time, because its
// clocks may have been set forward.
func knownFor(known []time.Duration, quorum int) time.Duration {
	return slices.Sorted(slices.Values(known))[len(known)-quorum]
}
