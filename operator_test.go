package redlock

import (
	"context"
	"testing"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/membership"
)

// What an operator does, for the tests of this package: package admin, which has tests of its own, cannot be imported here.

func (c *Client) found(ctx context.Context, floor fence.Token) error {
	return c.members.Init(ctx, max(membership.FoundingFloor(), int64(floor)), false)
}

func (c *Client) foundAnew(ctx context.Context, floor fence.Token) error {
	return c.members.Init(ctx, max(membership.FoundingFloor(), int64(floor)), true)
}

func (c *Client) changeMembers(ctx context.Context, change membership.Change, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	if _, err := c.firstView(ctx, "change the members", noName); err != nil {
		return err
	}
	return c.members.Make(ctx, change, progress)
}

// described is who the members are, as c's masters say.
func (c *Client) described(t *testing.T) membership.Description {
	t.Helper()
	_, err := c.firstView(background, "describe the members", noName)
	must(t, err)
	is, err := c.members.Describe(background)
	must(t, err)
	return is
}

func addMember(address string) membership.Change {
	return membership.Change{Kind: membership.Add, Address: address}
}

func replaceMember(old, address string) membership.Change {
	return membership.Change{Kind: membership.Replace, Replaced: old, Address: address}
}

func suspendMember(address string) membership.Change {
	return membership.Change{Kind: membership.Suspend, Address: address}
}

func resumeMember(address string) membership.Change {
	return membership.Change{Kind: membership.Resume, Address: address}
}

func removeMember(address string) membership.Change {
	return membership.Change{Kind: membership.Remove, Address: address}
}

// shown is what an inspection would show of these locks, held or lingering.
func shown(locks ...*Lock) (all []core.Acquisition) {
	for _, l := range locks {
		all = append(all, core.Acquisition{Owner: l.h.ID, Stored: l.h.ID}, core.Acquisition{Owner: l.h.ID, Stored: "- " + l.h.ID})
	}
	return all
}

// mustForce takes name from these locks.
func mustForce(t *testing.T, c *Client, name string, from ...*Lock) fence.Token {
	t.Helper()
	token, err := c.forceUnlock(background, name, shown(from...))
	must(t, err)
	return token
}
