package redlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// The members of a deployment are learned from the masters, whatever list of them the
// client was given. What it goes by is a view: see internal/membership.

// mayAsk makes sure that the members are known, and that an acquisition with cfg (nil:
// something else) suits the deployment.
func (c *Client) mayAsk(ctx context.Context, op, name string, cfg *lockConfig) error {
	v, err := c.firstView(ctx, op, name)
	if err == nil {
		return c.suits(v, cfg)
	}
	if op == opAcquire && !errors.Is(err, ErrNotAcquired) {
		err = printable.Because(ErrNotAcquired, err)
	}
	if cfg != nil {
		cfg.telling.notMade(name, err)
	}
	return err
}

// firstView returns who votes, once that is known, or why it is not.
func (c *Client) firstView(ctx context.Context, op, name string) (*membership.View, error) {
	v := c.members.First(ctx, c.requestTimeout)
	switch {
	case v != nil:
		return v, nil
	case ctx.Err() != nil:
		return nil, printable.ContextError(ctx)
	case c.closed.Err() != nil:
		return nil, ErrClosed
	}
	return nil, c.unknownMembers(op, name)
}

// unknownMembers is why nothing can be asked of the masters.
func (c *Client) unknownMembers(op, name string) error {
	faults := c.members.Faults()
	e := &QuorumError{Op: op, Name: name, Reason: ErrNoQuorum, Need: c.needed()}
	for i, m := range c.masters {
		v := Vote{Master: m.Name, Answer: Unknown, Err: quorum.ErrNoAnswer}
		if faults[i] != nil {
			v.Err = printable.Error(faults[i])
		}
		if master.IsReply(faults[i]) || errors.Is(faults[i], ErrNotMember) {
			v.Answer = Refused
		}
		e.Votes = append(e.Votes, v)
	}
	if c.members.NeedsInit() {
		return printable.Join(e, ErrNeedsInit)
	}
	return e
}

// suits reports what in the settings of the client, or of an acquisition, the deployment
// does not allow. It makes the default ttl fit.
func (c *Client) suits(v *membership.View, cfg *lockConfig) error {
	most := v.Table.MaxLease()
	if cfg != nil && !cfg.ttlGiven {
		cfg.ttl = min(cfg.ttl, most-cfg.delay)
	}
	switch {
	case c.maxTTLGiven && c.maxTTL > most:
		return &OptionError{"max ttl", c.maxTTL, fmt.Sprintf("must be at most the deployment's (%v)", most)}
	case c.driftGiven && c.drift < v.Table.Drift:
		return &OptionError{"drift", c.drift, fmt.Sprintf("must be at least the deployment's (%v)", v.Table.Drift)}
	case cfg != nil && !cfg.ttlGiven && cfg.ttl < c.leastTTL():
		within := c.config
		within.maxTTL = most
		return within.noDefaultTTL(*cfg)
	case cfg != nil && cfg.ttl+cfg.delay > most:
		return &OptionError{"ttl", cfg.ttl, fmt.Sprintf("must be at most the deployment's max ttl (%v) less the lock delay (%v)", most, cfg.delay)}
	case cfg != nil:
		return atLeastFits(cfg.atLeast, most, c.driftOf(v))
	}
	return nil
}

// needed is how many members decide, as far as is known.
func (c *Client) needed() int {
	if v := c.members.View(); v != nil {
		return v.Table.Quorum()
	}
	return len(c.masters)/2 + 1
}

// learnPatience is how long a call waits for masters that had not learned a version yet, before it
// asks again. What else there is to settle among the members may take much longer.
const learnPatience = 50 * time.Millisecond

// newerView returns the view at which to ask again what ended with err at v, because the
// members changed meanwhile, or some of the masters had not learned v's version yet; or nil.
func (c *Client) newerView(ctx context.Context, err error, v *membership.View, deadline clock.Instant) *membership.View {
	left := deadline.Sub(c.now())
	switch {
	case ctx.Err() != nil || left <= 0:
		return nil
	case errors.Is(err, quorum.ErrOvertaken):
		return c.members.View()
	case !errors.Is(err, ErrNoQuorum):
		return nil
	}
	short := v.Short()
	if short { // nothing was asked of those that were out: look whether they are yet
		c.members.Kick()
	}
	patience, outdated := left, errors.Is(err, script.ErrVersion)
	if outdated {
		patience = min(left, learnPatience)
	}
	now := c.members.Settled(ctx, v, patience)
	switch {
	case now == nil && patience < left && ctx.Err() == nil:
		return c.members.View()
	case now != nil && now.Version == v.Version && !outdated && (!short || now.Short()):
		return nil
	}
	return now
}

// whileMembersChange asks at the newest view, and again as long as it fails because the
// members have changed meanwhile. There must be a view.
func (c *Client) whileMembersChange(ctx context.Context, deadline clock.Instant, ask func(*membership.View) error) error {
	for v := c.members.View(); ; {
		err := ask(v)
		if v = c.newerView(ctx, err, v, deadline); v == nil {
			return err
		}
	}
}

// learned is told of each view.
func (c *Client) learned(before, now *membership.View) {
	latest := c.members.View() // it may be told of two at once
	silent := make([]bool, len(latest.Out))
	for i, out := range latest.Out {
		silent[i] = out != nil
	}
	c.notices.SetQuorum(latest.Table.Quorum(), silent)
	c.tickets.SetQuorum(latest.Table.Quorum())
	c.tellMembers(before, now)
	if before == nil || before.Version != now.Version {
		c.holds.MembersChanged()
	}
}

// tellMembers tells the observer what is new in a view.
func (c *Client) tellMembers(before, now *membership.View) {
	for i, out := range now.Out {
		if out != nil && (before == nil || fmt.Sprint(before.Out[i]) != out.Error()) {
			c.tellOut(c.masters[i].Name, out)
		}
	}
	if before != nil && before.Version == now.Version {
		return
	}
	if before != nil {
		c.tellMemberChanges(before, now)
	}
	c.tellVersion(now)
}
