package membership

import (
	"errors"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// step is one of those below.
type step any

type (
	// finish: propose the version that is not known to be committed again, as it is.
	finish struct{}

	// adopt: let the durable server of a master, which restarted, keep its id; or note that it was
	// a replica, and may not.
	adopt struct{ master int }

	// note: have a durable member vote no more as its settings are not durable, or again as they
	// are.
	note struct {
		master int
		weak   bool
	}

	// enroll: give the server of a master, which the view does not list, a new id.
	enroll struct{ master int }

	// syncCounters: raise the counters of a new member to those of a quorum.
	syncCounters struct{ master int }

	// propose: change the view's table to another.
	propose struct{ table *Table }

	// remove: give the counters of a quorum to those that stay, and take the member out.
	remove struct{ id string }

	// relook: look at all masters once more.
	relook struct{}

	// nothing is to be done, but to look again after a while (0: never), at some masters only if
	// there are any.
	nothing struct {
		wait time.Duration
		at   []int
	}
)

const (
	// lookAgain is how often a client looks at members that it cannot help now.
	lookAgain = 2 * time.Second

	// settled is for how long a server has been up at least that gets the place of a member from
	// clients; less, if the quarantine is short.
	settled = 10 * time.Second

	// settingsAgain is how often a client looks whether durable members still are, by settings
	// that no master looks at by itself.
	settingsAgain = 5 * time.Minute
)

// next returns what any client does by itself: it lets durable servers keep their ids, finishes
// what was begun, notes which members are not durable any more, gives the place of a member that
// lost its data to the server at its address, and lets new members vote.
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
			wait = sooner(wait, settles)
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
		wait = sooner(wait, estimate)
	} else if slices.ContainsFunc(t.Members, func(m Member) bool { return m.State == New }) {
		wait = lookAgain
	}
	return w.idle(wait)
}

// idle returns when to look again at which masters, if there is nothing to do, and at all of them
// after wait at the latest.
func (w world) idle(wait time.Duration) nothing {
	votes := 0
	var strange []int // their names may lead to other servers soon
	for i, m := range w.masters {
		r := m.report
		switch {
		case r == nil:
		case r.claim != "", !r.intact() && w.place(i) != nil: // nothing shows when an init is finished
			wait = sooner(wait, lookAgain)
		case r.deployment == w.view.Deployment && w.view.Table.stateOf(r.id) == Voting:
			votes++
		}
		if errors.Is(w.view.Out[i], ErrNotAdmitted) {
			strange = append(strange, i)
		}
	}
	if votes < w.view.Table.Quorum() {
		wait = sooner(wait, lookAgain)
	}
	if strange != nil && (wait == 0 || wait > lookAgain) {
		return nothing{lookAgain, strange}
	}
	if wait == 0 && slices.ContainsFunc(w.view.Table.Members, func(m Member) bool { return m.Durable }) {
		wait = settingsAgain
	}
	return nothing{wait: wait}
}

// sooner returns the shorter one of two waits, of which 0 has no end.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// able reports whether no step failed at the master lately.
func (w world) able(master int) bool { return !w.now.Before(w.masters[master].unable) }

// settles returns for how long the server of a master has to be up yet before it gets the place of
// a member. One that was started without the data of the member, by mistake, may be gone in a
// moment, and the member's server be back.
func (w world) settles(master int) time.Duration {
	m := w.masters[master]
	return min(settled, w.view.Table.Quarantine()/6) - max(m.report.up, w.now.Sub(m.runAt))
}

// canSpare reports whether so many other members vote and answer that one may lose its vote by a
// wrong name: a quorum, and one more if there are as many.
func (w world) canSpare(m Member) bool {
	t := w.view.Table
	others := w.distinct(func(r *report) bool { return r.id != m.ID && t.stateOf(r.id) == Voting })
	return len(others) >= max(t.Quorum(), min(t.Quorum()+1, len(t.Members)-1))
}

// withoutWeakened returns the table in which the members that are weakened are not durable; nil if
// none is. Until it is committed, these take no part in changes: what they accept may be lost.
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

// returning returns a master whose server restarted and may keep its id; -1 if there is none. soon
// reports that one may, if the others report again what they reported before.
//
// What the server itself has on disk may be older than the change by which it is not durable any
// more. That change was accepted by a quorum of members, this one not among them. So the server
// keeps its id if a quorum of members, this one among them, has kept its data, and by the newest
// table that they have it is durable; and a majority of the table before that, unless it is known
// to be committed. The others must have been asked after it was seen to have restarted: until then
// it may have voted.
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

// mayReturn reports whether a server may keep its id, as far as the reports show that were asked
// for since then.
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

// newMembers returns the masters that are new members, lack their counters and may get them; and
// the table in which those vote that have them, nil if none has.
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

// quarantine returns how much was left of the quarantine of the view when the members reported, and
// an estimate of how much is by now, by this client's clock; known: enough members reported. The quarantine lasts until a
// quorum of members, by their own clocks, have known for long enough that the version is committed.
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

// knownFor returns for how long a quorum have known what they have known for so long each. Fewer
// may have known it for longer, because a clock was set right.
func knownFor(known []time.Duration, quorum int) time.Duration {
	return slices.Sorted(slices.Values(known))[len(known)-quorum]
}
