package harness

import (
	"context"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/membership"
)

// Found makes c's masters a deployment whose tokens begin above floor.
func Found(ctx context.Context, c *redlock.Client, floor fence.Token) error {
	return Inside(c).Members.Init(ctx, max(membership.FoundingFloor(), int64(floor)), false)
}

// FoundAnew founds a deployment by force, on masters that already belong to a deployment.
func FoundAnew(ctx context.Context, c *redlock.Client, floor fence.Token) error {
	return Inside(c).Members.Init(ctx, max(membership.FoundingFloor(), int64(floor)), true)
}

// ChangeMembers makes one change of the members, and calls progress() with each step, unless progress is nil.
func ChangeMembers(ctx context.Context, c *redlock.Client, change membership.Change, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	in := Inside(c)
	if _, err := in.FirstView(ctx, "change the members", ""); err != nil {
		return in.Public(err)
	}
	return in.Members.Make(ctx, change, progress)
}

// Described returns the members, as c's masters report them.
func Described(t *testing.T, c *redlock.Client) membership.Description {
	t.Helper()
	in := Inside(c)
	_, err := in.FirstView(context.Background(), "describe the members", "")
	Must(t, err)
	is, err := in.Members.Describe(context.Background())
	Must(t, err)
	return is
}

// AddMember returns the change that makes the server at an address a member.
func AddMember(address string) membership.Change {
	return membership.Change{Kind: membership.Add, Address: address}
}

// ReplaceMember returns the change that gives the place of the old member to the server at an address.
func ReplaceMember(old, address string) membership.Change {
	return membership.Change{Kind: membership.Replace, Replaced: old, Address: address}
}

// SuspendMember returns the change that takes a member's vote.
func SuspendMember(address string) membership.Change {
	return membership.Change{Kind: membership.Suspend, Address: address}
}

// ResumeMember returns the change that gives a member's vote back.
func ResumeMember(address string) membership.Change {
	return membership.Change{Kind: membership.Resume, Address: address}
}

// RemoveMember returns the change that removes a member.
func RemoveMember(address string) membership.Change {
	return membership.Change{Kind: membership.Remove, Address: address}
}

// Shown returns these locks as an inspection would show them. It returns each lock twice: as held, and as lingering.
func Shown(locks ...*redlock.Lock) (all []acquire.Acquisition) {
	for _, l := range locks {
		id := Hold(l).ID
		all = append(all, acquire.Acquisition{Owner: id, Stored: id}, acquire.Acquisition{Owner: id, Stored: "- " + id})
	}
	return all
}

// MustForce takes the name from the holders of these locks, by force.
func MustForce(t *testing.T, c *redlock.Client, name string, from ...*redlock.Lock) fence.Token {
	t.Helper()
	token, err := Inside(c).ForceUnlock(context.Background(), name, Shown(from...))
	Must(t, err)
	return token
}
