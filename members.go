package redlock

import (
	"context"
	"fmt"

	"github.com/redlock-go/redlock/internal/membership"
)

// The client learns the members of the deployment from the masters, whatever list of masters it was
// given; see internal/membership.View.

// mayAsk makes sure that the members are known, and that the client's settings suit the deployment.
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
	c.locks.Learned(c.members.View()) // two calls may run at once
	c.notifyMembers(before, now)
	if before == nil || before.Version != now.Version {
		c.holds.MembersChanged()
	}
}

// notifyMembers reports the changes of a view to the observer.
func (c *Client) notifyMembers(before, now *membership.View) {
	for i, out := range now.Out {
		if out != nil && (before == nil || fmt.Sprint(before.Out[i]) != out.Error()) {
			c.notifyOut(c.masters[i].Name, out)
		}
	}
	if before != nil && before.Version == now.Version {
		return
	}
	if before != nil {
		c.notifyMemberChanges(before, now)
	}
	c.notifyVersion(now)
}
