package membership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Change is an operator's change of the members.
type Change struct {
	Kind     string // one of the constants below
	Address  string // of the member; for Add and Replace, of the server that becomes a member
	Replaced string // only for Replace: the address of the member that gives up its place
}

// The kinds of changes.
const (
	Add     = "add"
	Replace = "replace"
	Suspend = "suspend"
	Resume  = "resume"
	Remove  = "remove"
)

// RefusedError is the error of a change or an init that is refused.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// ErrBeyondRepair is the error of every change after too many members have lost their data.
var ErrBeyondRepair = errors.New("too many members lost their data for the others to have all of it")

// These steps are only for operators' changes. A change also uses the steps of next.go.
type (
	// done: the change was made.
	done struct{}

	// waitFor: no step is possible now, for the reason in the field why. The field look is the time
	// until the next look; if it is 0, the loop chooses the time.
	waitFor struct {
		why  string
		look time.Duration
	}
)

// toward returns the next step of a change, or an error if the change is refused.
func (w world) toward(c Change) (step, error) {
	if i, soon := w.returning(); i >= 0 || soon || w.uncommitted || w.view == nil {
		return waitFor{why: "waiting for the masters"}, nil
	}
	if w.beyondRepair() {
		return nil, ErrBeyondRepair
	}
	t := w.view.Table
	if c.Kind == Add || c.Kind == Replace {
		return w.seat(t, c)
	}
	m := w.named(c.Address)
	if m == nil {
		if c.Kind == Remove {
			return done{}, nil
		}
		return nil, refused("%s is no member: the members are %s", c.Address, t.addresses())
	}
	change, next, after := fmt.Sprintf("%s %s", c.Kind, m.Address), t.next(), t
	switch {
	case c.Kind == Suspend && m.State == Suspended, c.Kind == Resume && m.State == Voting:
		return done{}, nil
	case c.Kind == Resume && m.State == New:
		return nil, refused("%s is new: it votes when it has its counters and the quarantine is over", m.Address)
	case c.Kind == Suspend && m.State == New:
		return nil, refused("%s is new, and does not vote anyway", m.Address)
	case c.Kind == Remove && len(t.Members) == 1:
		return nil, refused("the last member cannot be removed")
	case c.Kind == Remove:
		after = t.without(m.ID)
	}
	if err := w.atHand(after, change); err != nil {
		return nil, err
	}
	switch {
	case c.Kind == Resume:
		next.find(m.ID).State = Voting
		return propose{next}, nil
	case c.Kind == Remove && m.State != Voting:
		if err := after.enough(change); err != nil {
			return nil, err
		}
		return w.afterQuarantine("is removed", remove{m.ID}), nil
	}
	next.find(m.ID).State = Suspended
	if first, err := w.ready(next, change); first != nil || err != nil {
		return first, err
	}
	return propose{next}, nil
}

// afterQuarantine returns s if the quarantine is over. Otherwise it returns a step that waits for the
// end of the quarantine. The text of this step contains the parameter what: "votes" or "is removed".
func (w world) afterQuarantine(what string, s step) step {
	left, estimate, known := w.quarantine()
	switch {
	case left <= 0:
		return s
	case !known:
		return waitFor{why: "waiting until a quorum knows the change"}
	}
	return waitFor{fmt.Sprintf("it %s in %v, when all that was granted before is over", what, estimate.Round(time.Second)), min(estimate, time.Second)}
}

// enough returns a refusal of the change if fewer than a quorum of members vote in t, the new table.
func (t *Table) enough(change string) error {
	if t.voting() < t.Quorum() {
		return refused("cannot %s: only %d of %d members would vote, and %d are needed", change, t.voting(), len(t.Members), t.Quorum())
	}
	return nil
}

// ready returns a refusal of the change if fewer than a quorum of members vote in t, the new table. If fewer
// than a quorum of t's voting members answer, ready returns a step that waits: a member that does not answer
// may have lost grants. If no address of this client leads to a member, the member counts as answering.
func (w world) ready(t *Table, change string) (first step, err error) {
	if err := t.enough(change); err != nil {
		return nil, err
	}
	answer := 0
	for _, m := range t.Members {
		if m.State == Voting && (w.serving(m.ID) >= 0 || w.leads(m) < 0) {
			answer++
		}
	}
	if answer < t.Quorum() {
		return waitFor{why: fmt.Sprintf("of the members that would vote, %d answer, and %d are needed", answer, t.Quorum())}, nil
	}
	return nil, nil
}

// atHand returns a refusal of the change if too few members of t, the new table, are among the client's
// masters: the client needs a quorum of them to finish the change. Silent members count for this quorum.
// New members do not count.
func (w world) atHand(t *Table, change string) error {
	var missing []string
	has := 0
	for _, m := range t.Members {
		switch {
		case m.State == New:
		case w.serving(m.ID) < 0 && w.leads(m) < 0:
			missing = append(missing, m.Address)
		default:
			has++
		}
	}
	if need := t.Quorum(); has < need && missing != nil {
		return refused("cannot %s: %d of the members that have the counters are among the masters that were given, and %d are needed: give %s too",
			change, has, need, strings.Join(missing, ", "))
	}
	return nil
}

// seat returns the next step of an Add or a Replace. Add makes the server at c.Address an additional
// member. Replace gives this server the place of another member.
func (w world) seat(t *Table, c Change) (step, error) {
	old, at, same := (*Member)(nil), t.at(c.Address), c.Address == c.Replaced
	if c.Kind == Replace {
		old = w.named(c.Replaced)
	}
	switch {
	case old == nil && at != nil:
		return w.await(*at), nil
	case old == nil && c.Kind == Replace:
		return nil, refused("%s is no member: the members are %s", c.Replaced, t.addresses())
	case at != nil && !same:
		return nil, refused("%s is a member already", c.Address)
	}
	next, place, change := t.next(), len(t.Members), "add "+c.Address
	if old != nil {
		place, change = slices.Index(t.ids(), old.ID), "replace "+c.Replaced
	} else {
		next.Members = append(next.Members, Member{})
	}
	next.Members[place] = Member{State: New, Address: c.Address}
	if first, err := w.ready(next, change); (first != nil || err != nil) && !same {
		return first, err
	} else if err := w.atHand(next, change); err != nil {
		return nil, err
	}
	r, first, err := w.join(c.Address)
	if first != nil || err != nil {
		return first, err
	}
	if m := t.find(r.id); m != nil {
		if old != nil && (same || m.ID == old.ID) {
			return w.await(*old), nil
		}
		return nil, refused("%s is a member already, as %s", c.Address, m.Address)
	}
	next.Members[place].ID, next.Members[place].Durable = r.id, r.durable == durable
	return propose{next}, nil
}

// await returns done{} if the member is not new. Otherwise it returns a step that waits until the member
// has its counters and the quarantine is over. After that, it returns the step that lets the member vote.
func (w world) await(m Member) step {
	i, n, need := w.serving(m.ID), len(w.sources()), w.view.Table.Quorum()
	switch {
	case m.State != New:
		return done{}
	case i < 0 && w.successor(m) < 0:
		return waitFor{why: m.Address + " is a new member, but does not answer"}
	case n < need:
		return waitFor{why: fmt.Sprintf("%d members that have counters can be reached, and %d are needed", n, need)}
	case i < 0 || w.masters[i].report.synced == "":
		return waitFor{why: m.Address + " is a new member, and gets its counters"}
	}
	_, ready := w.newMembers()
	return w.afterQuarantine("votes", propose{ready})
}

// join returns the report of the server at this address. If the server needs a new id, join instead
// returns the step that gives the server this id.
func (w world) join(address string) (r *report, first step, err error) {
	i := w.index(address)
	if i < 0 {
		return nil, nil, refused("%s is none of the masters that were given", address)
	}
	r = w.masters[i].report
	switch {
	case r == nil:
		return nil, waitFor{why: address + " does not answer"}, nil
	case r.bad != nil, r.claim != "":
		return nil, nil, refused("%s: %s", address, r.condition())
	case r.deployment != "" && r.deployment != w.view.Deployment:
		return nil, nil, refused("%s belongs to another deployment, %s", address, r.deployment)
	case w.view.Table.find(r.id) == nil && !r.isNew(), !r.intact():
		return nil, enroll{i}, nil
	}
	return r, nil, nil
}
