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

func (c *Client) changeMembers(ctx context.Context, change membership.Change, progress func(string)) error {
	if progress == nil {
		progress = func(string) {}
	}
	if _, err := c.firstView(ctx, "change the members", noName); err != nil {
		return err
	}
	return c.members.Make(ctx, change, progress)
}

func suspendMember(address string) membership.Change {
	return membership.Change{Kind: membership.Suspend, Address: address}
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
