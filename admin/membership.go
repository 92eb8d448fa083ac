package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
)

// Membership is the table of a deployment's members, as its masters report it.
type Membership struct {
	Deployment string        // its id
	Version    int           // of the table of members; each change raises it
	MaxTTL     time.Duration // the longest ttl plus lock delay
	Drift      float64       // the least drift that clients must allow for
	Need       int           // how many members decide: more than half
	Members    []Member
	Others     []OtherMaster // the client's masters that are no members

	// Unfinished reports whether a change of the members has begun and may be incomplete. Any running client finishes
	// such a change.
	Unfinished bool
}

// MemberState is the state of a member in the table.
type MemberState string

// The states of a member.
const (
	MemberVoting    = MemberState(membership.Voting)    // it votes
	MemberNew       = MemberState(membership.New)       // it does not vote until it has the counters and the quarantine is over
	MemberSuspended = MemberState(membership.Suspended) // it does not vote until it is resumed
)

// Member is one member of the deployment. A decision needs the votes of more than half of all
// members, whatever their states.
type Member struct {
	ID      string // of the member's data: a server that lost its data gets a new id
	Address string // as given to Init or ChangeMembers
	State   MemberState
	Master  string        // the client's master that is this member; "" if there is none
	Left    time.Duration // time until a new member may vote, or a suspended member may be removed; 0: no time is left, or the time is not known
	Err     error         // why the member does not answer or vote
	Names   []string      // other addresses by which clients reached the member: a hint, which the masters store
	Mend    string        // what to do if the member cannot recover by itself, or ""
}

// Condition returns why the member does not vote, for example "is new, and does not vote for 5s", or "" if it votes.
// The text is for people: print the member's address before it. It does not contain Err.
func (m Member) Condition() string {
	return membership.State(m.State).Condition(m.Left, m.Master == "" || m.Err != nil)
}

// OtherMaster is a master that is no member.
type OtherMaster struct {
	Master string // its address
	State  string // in words
	Err    error  // why its state is not known
}

// Members asks the masters for the table of members. Errors: ctx's error and cause; redlock.ErrClosed; a
// *redlock.QuorumError with the reason why the members are not known.
func Members(ctx context.Context, client *redlock.Client) (Membership, error) {
	c := redlock.Inside(core.Key{}).Client(ctx, client)
	leave, err := c.Enter(ctx)
	if err != nil {
		return Membership{}, err
	}
	defer leave()
	if _, err := c.FirstView(ctx, opMembers, noName); err != nil {
		return Membership{}, c.Public(err)
	}
	d, err := c.Members.Describe(ctx)
	if ended := c.Ended(ctx); ended != nil {
		return Membership{}, ended
	}
	if err != nil {
		return Membership{}, c.Public(c.UnknownMembers(opMembers, noName))
	}
	t := d.View.Table
	m := Membership{
		Deployment: d.View.Deployment, Version: d.View.Number(), MaxTTL: t.MaxLease(), Drift: t.Drift, Need: t.Quorum(), Unfinished: d.Uncommitted,
	}
	for _, is := range d.Members {
		m.Members = append(m.Members, Member{ID: is.ID, Address: is.Address, State: MemberState(is.State), Master: is.Master, Left: is.Left, Err: is.Err, Names: is.Names, Mend: is.Mend})
	}
	for _, other := range d.Others {
		m.Others = append(m.Others, OtherMaster(other))
	}
	return m, nil
}

// ErrChangeRefused is returned by ChangeMembers when the change is not made.
var ErrChangeRefused = errors.New("redlock: the members were not changed")

// MemberChange is a change of the members: see ChangeMembers.
type MemberChange struct{ change membership.Change }

// AddMember adds the master at address to the members. The member votes after the quarantine.
func AddMember(address string) MemberChange {
	return MemberChange{membership.Change{Kind: membership.Add, Address: address}}
}

// ReplaceMember gives the place of the member at the address old to the master at the address new. This master votes
// after the quarantine. The old member need not answer.
func ReplaceMember(old, new string) MemberChange {
	return MemberChange{membership.Change{Kind: membership.Replace, Replaced: old, Address: new}}
}

// SuspendMember takes the vote from the member at address.
func SuspendMember(address string) MemberChange {
	return MemberChange{membership.Change{Kind: membership.Suspend, Address: address}}
}

// ResumeMember gives the vote back to the member at address.
func ResumeMember(address string) MemberChange {
	return MemberChange{membership.Change{Kind: membership.Resume, Address: address}}
}

// RemoveMember takes the member at address out: ChangeMembers suspends the member, waits for the quarantine, and then
// makes the deployment smaller by one. If no member is at address, ChangeMembers does nothing and returns nil, so that
// an interrupted removal can be repeated. In this case ChangeMembers calls its progress function with a warning,
// because the address may be mistyped.
func RemoveMember(address string) MemberChange {
	return MemberChange{membership.Change{Kind: membership.Remove, Address: address}}
}

// ChangeMembers changes the members while locks are held. It returns when the change is done. If a
// member is to get a vote or to be removed, the change takes the deployment's max ttl and a little
// more. progress, if not nil, is called with texts that describe what ChangeMembers waits for. The
// change may be interrupted anywhere: call ChangeMembers again, and the change goes on. A
// half-made change does no more harm than a dead master.
//
// The client's masters must include a quorum of the members that the deployment will have after the change. A member
// that joins must be among the client's masters too, but does not count for this quorum.
//
// Errors: *redlock.OptionError if change has an empty address or is the zero MemberChange;
// ErrChangeRefused, with the reason, if the change would leave too few members that vote, or does
// not fit the members; redlock.ErrNeedsInit, if too many members lost their data;
// redlock.ErrDenied, if the user lacks, on some master, a right that the change needs (nothing
// is changed then); ctx's error and cause; redlock.ErrClosed; a *redlock.QuorumError if the members
// are not known.
func ChangeMembers(ctx context.Context, client *redlock.Client, change MemberChange, progress func(string)) error {
	c := redlock.Inside(core.Key{}).Client(ctx, client)
	if progress == nil {
		progress = func(string) {}
	}
	if err := change.validate(); err != nil {
		return err
	}
	leave, err := c.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if _, err := c.FirstView(ctx, opMembers, noName); err != nil {
		return c.Public(err)
	}
	was := c.Members.Lists(change.change.Address)
	err = c.Members.Make(ctx, change.change, progress)
	if err == nil && change.change.Kind == membership.Remove && !was {
		progress(fmt.Sprintf("%s is no member", change.change.Address))
	}
	if why, refused := errors.AsType[*membership.RefusedError](err); refused {
		return fmt.Errorf("%w: %w", ErrChangeRefused, why)
	}
	if errors.Is(err, membership.ErrBeyondRepair) {
		return fmt.Errorf("%w: %w", redlock.ErrNeedsInit, err)
	}
	if err != nil && c.Closed.Err() != nil {
		return printable.Because(redlock.ErrClosed, err)
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return printable.Because(ctx.Err(), err)
	}
	return err
}

// validate returns an error for the zero change, and for a change with an empty address.
func (m MemberChange) validate() error {
	change := m.change
	switch {
	case change == (membership.Change{}):
		return &redlock.OptionError{Field: "change", Value: "(the zero MemberChange)", Rule: "must be made with AddMember, ReplaceMember, SuspendMember, ResumeMember or RemoveMember"}
	case change.Address == "":
		return &redlock.OptionError{Field: "address", Value: `""`, Rule: "must be that of a master"}
	case change.Kind == membership.Replace && change.Replaced == "":
		return &redlock.OptionError{Field: "old address", Value: `""`, Rule: "must be that of a member"}
	}
	return nil
}
