package redlock

import (
	"context"
	"fmt"

	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
)

// The client learns the members of the deployment from the masters, not from its list of masters;
// see internal/membership.View.

// mayAsk waits for the first view, and returns an error if the deployment refuses the settings.
func (c *Client) mayAsk(ctx context.Context, op, name string) error {
	v, err := c.asker.FirstView(ctx, op, name)
	if err != nil {
		return c.public(err)
	}
	_, err = c.within(v)
	return err
}

// learned is called for each new view.
func (c *Client) learned(before, now *membership.View) {
	c.locks.Learned(c.members.View()) // the newest view: another call of learned may have overtaken this call
	c.notifyMembers(before, now)
	if before == nil || before.Version != now.Version {
		c.holds.MembersChanged()
	}
}

// notifyMembers reports the changes of a view to the observer.
func (c *Client) notifyMembers(before, now *membership.View) {
	for i, out := range now.Out {
		if out != nil && (before == nil || fmt.Sprint(before.Out[i]) != out.Error()) {
			c.observer.NotAMember(MasterStatus{c.masters[i].Name, printable.Error(out)})
		}
	}
	if before != nil && before.Version == now.Version {
		return
	}
	if before != nil {
		for _, change := range membership.Changes(before.Table, now.Table) {
			c.observer.MemberChanged(MemberTransition{change.Address, string(change.From), string(change.To)})
		}
	}
	c.observer.VersionLearned(TableVersion{now.Number()})
}
