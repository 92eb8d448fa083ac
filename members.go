package redlock

import (
	"context"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/lease"
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
	return c.settingsSuit(v)
}

// settingsSuit returns an error if the deployment does not allow the client's settings.
func (c *Client) settingsSuit(v *membership.View) error {
	switch most := v.Table.MaxLease(); {
	case c.maxTTLGiven && c.maxTTL > most:
		return &OptionError{"max ttl", c.maxTTL, fmt.Sprintf("must be at most the deployment's (%v)", most)}
	case c.driftGiven && c.drift < v.Table.Drift:
		return &OptionError{"drift", c.drift, fmt.Sprintf("must be at least the deployment's (%v)", v.Table.Drift)}
	}
	return nil
}

// suits returns an error if the deployment does not allow the settings of the client or of an
// acquisition. Else it returns the ttl: the default is made to fit.
func (c *Client) suits(v *membership.View, o acquire.Options) (time.Duration, error) {
	if err := c.settingsSuit(v); err != nil {
		return 0, err
	}
	most := v.Table.MaxLease()
	if !o.TTLGiven {
		o.TTL = min(o.TTL, most-o.Delay)
	}
	switch {
	case !o.TTLGiven && o.TTL < c.leastTTL():
		within := c.config
		within.maxTTL = most
		return 0, within.noDefaultTTL(o.TTL, o.Delay)
	case o.TTL+o.Delay > most:
		return 0, &OptionError{"ttl", o.TTL, fmt.Sprintf("must be at most the deployment's max ttl (%v) less the lock delay (%v)", most, o.Delay)}
	}
	return o.TTL, atLeastFits(o.AtLeast, most, c.driftOf(v))
}

// suitsHold is suits for a re-entry, whose settings the client's own must allow too.
func (c *Client) suitsHold(h *lease.Hold, o acquire.Options) (ttl time.Duration, err error) {
	o.Delay = h.Config.Delay
	if !o.TTLGiven || o.TTL == c.config.lock.TTL { // not given for this call
		o.TTL, o.TTLGiven = min(o.TTL, c.maxTTL-h.Config.Delay), false
	}
	if ttl, err = c.suits(c.members.View(), o); err != nil {
		return 0, err
	}
	return ttl, c.validateTTL(ttl, h.Config.Delay)
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
