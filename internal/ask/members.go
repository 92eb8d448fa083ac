package ask

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// The client learns the members of the deployment from the masters, even if the program gave it
// another list of masters; see internal/membership.View.

// FirstView waits until the members are known, and returns the view. The error has op and name.
func (a *Asker) FirstView(ctx context.Context, op, name string) (*membership.View, error) {
	if v := a.Members.First(ctx, a.RequestTimeout); v != nil {
		return v, nil
	}
	if err := a.Ended(ctx); err != nil {
		return nil, err
	}
	return nil, a.UnknownMembers(op, name)
}

// UnknownMembers returns the error for a call that cannot ask the masters, because the members are
// unknown.
func (a *Asker) UnknownMembers(op, name string) error {
	votes := make([]script.Vote, len(a.Masters))
	for i, fault := range a.Members.Faults() {
		switch {
		case fault == nil:
			votes[i].Err = quorum.ErrNoAnswer
		case master.IsReply(fault), errors.Is(fault, script.ErrNotMember):
			votes[i] = script.Vote{Answer: script.Refused, Err: fault}
		default:
			votes[i].Err = fault
		}
	}
	f := &Failure{Op: op, Name: name, Reason: ErrNoQuorum, Need: a.Needed(), Votes: votes}
	if a.Members.NeedsInit() {
		return printable.Join(f, ErrNeedsInit)
	}
	return f
}

// Needed returns the size of a quorum, or a guess while the members are unknown.
func (a *Asker) Needed() int {
	if v := a.Members.View(); v != nil {
		return v.Table.Quorum()
	}
	return len(a.Masters)/2 + 1
}

// learnPause is how long a call waits before it repeats a round, if masters had not learned the
// version yet. For other changes of the members, a call waits up to its deadline.
const learnPause = 50 * time.Millisecond

// NewerView is called after a round at v ended with err. If the members have changed meanwhile, or
// some masters had not learned v's version yet, NewerView returns the view for another round.
// Otherwise it returns nil.
func (a *Asker) NewerView(ctx context.Context, err error, v *membership.View, deadline clock.Instant) *membership.View {
	left := deadline.Sub(a.Now())
	switch {
	case ctx.Err() != nil || left <= 0:
		return nil
	case errors.Is(err, quorum.ErrOvertaken):
		return a.Members.View()
	case !errors.Is(err, ErrNoQuorum):
		return nil
	}
	short := v.Short()
	if short { // the masters without a vote were not asked: check whether they may vote by now
		a.Members.Kick()
	}
	patience, outdated := left, errors.Is(err, script.ErrVersion)
	if outdated {
		patience = min(left, learnPause)
	}
	now := a.Members.Settled(ctx, v, patience)
	switch {
	case now == nil && patience < left && ctx.Err() == nil:
		return a.Members.View()
	case now != nil && now.Version == v.Version && !outdated && (!short || now.Short()):
		return nil
	}
	return now
}

// WhileMembersChange calls the function ask with the newest view. If the function fails because the
// members have changed meanwhile, WhileMembersChange calls it again. The members must be known.
func (a *Asker) WhileMembersChange(ctx context.Context, deadline clock.Instant, ask func(*membership.View) error) error {
	for v := a.Members.View(); ; {
		err := ask(v)
		if v = a.NewerView(ctx, err, v, deadline); v == nil {
			return err
		}
	}
}
