package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// Change is what an operator wants of the members.
type Change struct {
	Kind     string // one of the below
	Address  string // of the member
	Replaced string // Replace: of the one whose place it takes
}

// The kinds of changes.
const (
	Add     = "add"
	Replace = "replace"
	Suspend = "suspend"
	Resume  = "resume"
	Remove  = "remove"
)

// RefusedError tells why a change is not made.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// ErrBeyondRepair is why no change is made when too many members lost their data.
var ErrBeyondRepair = errors.New("too many members lost their data for the others to tell what it was")

// The steps of an operator's change, besides those that any client takes.
type (
	// done: the change was made.
	done struct{}

	// waitFor: nothing can be done now, and why.
	waitFor struct{ why string }

	// remove: take the member out when the quarantine is over and the others have the counters.
	remove struct {
		view *View
		id   string
	}
)

// toward returns the next step of a change, or why it is not made.
func (s situation) toward(c Change) (step, error) {
	if i, soon := s.returning(); i >= 0 {
		return adopt{i}, nil
	} else if soon {
		return relook{}, nil
	}
	if s.uncommitted != "" {
		return finish{s.uncommitted}, nil
	}
	if s.view == nil {
		return nothing{}, nil
	}
	if s.beyondRepair() {
		return nil, ErrBeyondRepair
	}
	t := s.view.Table
	switch c.Kind {
	case Add:
		return s.adding(t, c.Address)
	case Replace:
		return s.replacing(t, c.Replaced, c.Address)
	}
	m := s.named(c.Address)
	if m == nil {
		if c.Kind == Remove {
			return done{}, nil
		}
		return nil, refused("%s is no member: the members are %s", c.Address, t.addresses())
	}
	next := t.next()
	switch {
	case c.Kind == Suspend && m.State == Suspended, c.Kind == Resume && m.State == Voting:
		return done{}, nil
	case c.Kind == Resume && m.State == New:
		return nil, refused("%s is new: it votes when it has its counters and the quarantine is over", m.Address)
	case c.Kind == Resume:
		next.find(m.ID).State = Voting
		return propose{s.view, next}, nil
	case c.Kind == Suspend && m.State == New:
		return nil, refused("%s is new, and does not vote anyway", m.Address)
	case c.Kind == Remove && m.State != Voting:
		return remove{s.view, m.ID}, nil
	}
	change, after := fmt.Sprintf("%s %s", c.Kind, m.Address), t
	if c.Kind == Remove {
		after = t.next()
		after.Members = slices.DeleteFunc(after.Members, func(other Member) bool { return other.ID == m.ID })
	}
	if err := s.atHand(after, change); err != nil {
		return nil, err
	}
	next.find(m.ID).State = Suspended
	if first, err := s.ready(next, change); first != nil || err != nil {
		return first, err
	}
	return propose{s.view, next}, nil
}

// enough refuses a change after which fewer than a quorum of members would vote.
func (t *Table) enough(change string) error {
	if t.voting() < t.Quorum() {
		return refused("cannot %s: only %d of %d members would vote, and %d are needed", change, t.voting(), len(t.Members), t.Quorum())
	}
	return nil
}

// ready refuses a change after which fewer than a quorum of members would vote. If enough would
// vote, but too few of their servers answer as those members, the change waits: the others may have
// lost their data, and then nobody could tell what it was.
func (s situation) ready(t *Table, change string) (first step, err error) {
	if err := t.enough(change); err != nil {
		return nil, err
	}
	answer := 0
	for _, m := range t.Members {
		if m.State == Voting && (s.serving(m.ID) >= 0 || s.leads(m) < 0) {
			answer++
		}
	}
	if answer < t.Quorum() {
		return waitFor{fmt.Sprintf("of the members that would vote, %d answer, and %d are needed", answer, t.Quorum())}, nil
	}
	return nil, nil
}

// atHand refuses a change that cannot be finished with the masters that were given: a quorum of the
// table's members must be among them, without those that are new, whether they answer or not.
func (s situation) atHand(t *Table, change string) error {
	var missing []string
	has := 0
	for _, m := range t.Members {
		switch {
		case m.State == New:
		case s.serving(m.ID) < 0 && s.leads(m) < 0:
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

// adding returns the next step of adding the server at address.
func (s situation) adding(t *Table, address string) (step, error) {
	if m := t.at(address); m != nil {
		return s.awaiting(*m)
	}
	next := t.next()
	next.Members = append(next.Members, Member{State: New, Address: address})
	if first, err := s.ready(next, "add "+address); first != nil || err != nil {
		return first, err
	} else if err := s.atHand(next, "add "+address); err != nil {
		return nil, err
	}
	id, first, err := s.joining(address)
	if first != nil || err != nil {
		return first, err
	}
	if m := t.find(id); m != nil {
		return nil, refused("%s is a member already, as %s", address, m.Address)
	}
	next.at(address).ID, next.at(address).Durable = id, s.isDurable(id)
	return propose{s.view, next}, nil
}

// replacing returns the next step of putting the server at address in the place of another.
func (s situation) replacing(t *Table, replaced, address string) (step, error) {
	old := s.named(replaced)
	if old == nil {
		if m := t.at(address); m != nil {
			return s.awaiting(*m)
		}
		return nil, refused("%s is no member: the members are %s", replaced, t.addresses())
	}
	if t.at(address) != nil && address != replaced {
		return nil, refused("%s is a member already", address)
	}
	next := t.next()
	place := next.find(old.ID)
	*place = Member{State: New, Address: address}
	if first, err := s.ready(next, "replace "+replaced); (first != nil || err != nil) && address != replaced {
		return first, err
	} else if err := s.atHand(next, "replace "+replaced); err != nil {
		return nil, err
	}
	id, first, err := s.joining(address)
	if first != nil || err != nil {
		return first, err
	}
	if m := t.find(id); m != nil {
		if address == replaced || m.ID == old.ID {
			return s.awaiting(*old)
		}
		return nil, refused("%s is a member already, as %s", address, m.Address)
	}
	place.ID, place.Durable = id, s.isDurable(id)
	return propose{s.view, next}, nil
}

// awaiting returns what is to be done until a member votes.
func (s situation) awaiting(m Member) (step, error) {
	if m.State == New {
		if s.serving(m.ID) < 0 && s.successor(m) < 0 {
			return waitFor{m.Address + " is a new member, but does not answer"}, nil
		}
		if n, need := len(s.sources(s.view)), s.view.Table.Quorum(); n < need {
			return waitFor{fmt.Sprintf("%d members that have counters can be reached, and %d are needed", n, need)}, nil
		}
		return s.next(), nil
	}
	return done{}, nil
}

// isDurable reports that the server with this id is durable by its settings.
func (s situation) isDurable(id string) bool {
	i := s.serving(id)
	return i >= 0 && s.reports[i].durable == durable
}

// joining returns the id of the server at address, or the step that gives it one.
func (s situation) joining(address string) (id string, first step, err error) {
	i := slices.Index(s.names, address)
	if i < 0 {
		return "", nil, refused("%s is none of the masters that were given", address)
	}
	r := s.reports[i]
	switch {
	case r == nil:
		return "", waitFor{address + " does not answer"}, nil
	case r.bad != nil, r.claim != "":
		return "", nil, refused("%s: %s", address, r.fault())
	case r.deployment != "" && r.deployment != s.view.Deployment:
		return "", nil, refused("%s belongs to another deployment, %s", address, r.deployment)
	case s.view.Table.find(r.id) == nil && !r.isNew(), !r.intact():
		return "", enroll{i, s.view}, nil
	}
	return r.id, nil, nil
}

// Make makes a change, from wherever it stands, and returns when it is done. progress is told what
// it waits for. When ctx ends it can be made again.
func (g *Group) Make(ctx context.Context, c Change, progress func(string)) error {
	if err := g.denied(ctx); err != nil {
		return err
	}
	g.making.Add(1)
	defer g.making.Add(-1)
	var last error
	tries := workPause // grows while nothing goes forward: masters cannot be reached, or other operators are in the way
	for ctx.Err() == nil {
		g.lookAll(ctx)
		s, err := g.situation().toward(c)
		if err != nil {
			return err
		}
		pause, stuck := time.Duration(0), false
		switch s := s.(type) {
		case done:
			return nil
		case finish:
			last = g.change(ctx, nil, nil)
		case relook:
			last = nil
		case nothing:
			stuck = true
			if s.wait == 0 {
				last = errors.New("the members are not known")
			}
			progress("waiting for the masters")
		case waitFor:
			stuck, last = true, nil
			progress(s.why)
		case promote:
			pause, last = waited(progress, "votes", func() (time.Duration, error) { return g.promote(ctx, s.view, nil) })
		case remove:
			pause, last = waited(progress, "is removed", func() (time.Duration, error) { return g.removeFrom(ctx, s.view, s.id) })
		default:
			last = g.do(ctx, s)
		}
		if _, final := errors.AsType[*RefusedError](last); final {
			return last
		}
		if errors.Is(last, script.ErrDenied) {
			return cmp.Or(g.denied(ctx), last) // the first has the name of the right
		}
		if last != nil {
			progress(last.Error())
		}
		if stuck || last != nil {
			if err := g.denied(ctx); err != nil { // a right was taken away meanwhile
				return err
			}
			pause, tries = tries/2+rand.N(tries), min(2*tries, lookAgain)
		} else {
			tries = workPause
		}
		select {
		case <-time.After(max(pause, workPause)):
		case <-ctx.Done():
		}
	}
	return printable.Join(context.Cause(ctx), last)
}

// waited takes a step that has to wait for the quarantine, and returns how long to wait before it
// is taken again.
func waited(progress func(string), what string, take func() (time.Duration, error)) (time.Duration, error) {
	left, err := take()
	if err == nil && left > 0 {
		progress(fmt.Sprintf("it %s in %v, when all that was granted before is over", what, left.Round(time.Second)))
		return min(left, time.Second), nil
	}
	return 0, err
}

// removeFrom takes a member out of the view's table, if the quarantine is over; else it returns how
// much of it is left. First a quorum of those that stay get the counters of a quorum at this very
// version: the smaller table has smaller quorums.
func (g *Group) removeFrom(ctx context.Context, v *View, id string) (left time.Duration, err error) {
	if len(v.Table.Members) == 1 {
		return 0, refused("the last member cannot be removed")
	}
	s := g.situation()
	if left, err = g.quarantine(ctx, s, v); err != nil || left > 0 {
		return left, err
	}
	floors, err := g.readCounters(ctx, s, v)
	if err != nil {
		return 0, err
	}
	next := v.Table.next()
	next.Members = slices.DeleteFunc(next.Members, func(m Member) bool { return m.ID == id })
	if err := next.enough("remove " + v.Table.find(id).Address); err != nil {
		return 0, err
	}
	raised := 0
	fault := each(ctx, g, s.staying(v, next), func(ctx context.Context, i int) (struct{}, error) {
		return struct{}{}, g.raise(ctx, i, s.reports[i].id, v.Version, true, floors)
	}, func(int, struct{}) (enough bool) {
		raised++
		return raised >= next.Quorum()
	})
	if raised < next.Quorum() {
		return 0, printable.Join(fmt.Errorf("the counters of %d members can be raised, and %d are needed", raised, next.Quorum()), fault)
	}
	return 0, g.change(ctx, v, next)
}
