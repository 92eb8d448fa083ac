package acquire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

var hereScript = master.NewScript(script.HereSource)

// keepSubscribed keeps the client subscribed to one master until ctx ends. A subscription counts
// once a message on it has shown that the subscription leads to the same member as the client's
// requests. A lost notice only costs time: a waiter also asks by itself, though seldom.
func (c *Client) keepSubscribed(ctx context.Context, index int) {
	m := c.Masters[index]
	for pause := master.MinRetry; ctx.Err() == nil; pause = min(2*pause, master.MaxRetry) {
		counted, err := c.subscribe(ctx, index)
		c.notices.Set(ctx, index, false)
		c.uncalled.note(m.Name, err)
		if counted {
			pause = master.MinRetry
		}
		rest := pause
		if _, giant := errors.AsType[*master.ProtocolError](err); giant || master.IsReply(err) {
			rest = AskInterval // the master will refuse again (for example, a permission is missing); or the channel is flooded
		} else if err == errNotHere {
			rest = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
	}
}

// subscribe receives notices on one subscription until the subscription ends. It returns whether
// the subscription counted, and why it ended.
func (c *Client) subscribe(ctx context.Context, index int) (counted bool, err error) {
	m := c.Masters[index]
	subscription, end := context.WithCancelCause(ctx)
	defer end(nil)
	late := time.AfterFunc(c.RequestTimeout, func() { end(errNotHere) })
	defer late.Stop()
	err = m.Subscribe(subscription, c.channel, func() error {
		ctx, cancel := context.WithTimeout(subscription, c.RequestTimeout)
		defer cancel()
		return m.Eval(ctx, hereScript, []string{script.RegisterKey(c.Prefix)}, c.channel)
	}, func(text string) {
		notice := script.ParseNotice(text)
		switch {
		case !notice.Here:
			c.called(index, notice)
		case c.leadsTo(index, notice.Member) && late.Stop():
			counted = true
			c.uncalled.note(m.Name, nil)
			c.notices.Set(ctx, index, true)
		case !counted:
			end(errNotHere)
		}
	})
	if cause := context.Cause(subscription); cause == errNotHere {
		err = cause
	}
	return counted, err
}

// errNotHere ends a subscription that does not lead to the same member as the requests to its master.
var errNotHere = errors.New("the subscription does not lead to the member that the requests lead to")

// leadsTo reports whether the requests to a master lead to this member.
func (c *Client) leadsTo(index int, member string) bool {
	v := c.Members.View()
	return v != nil && member != "" && v.IDs[index] == member
}

// Uncalled returns why masters cannot call this client, or nil.
func (c *Client) Uncalled() error { return c.uncalled.why() }

// uncalled has the errors of masters that do not let the client subscribe. Without a quorum of
// subscriptions, waiters poll, and get the lock only after the waiters that the masters call.
type uncalled struct {
	mu      sync.Mutex
	masters map[string]error
}

// note records that a master denied the subscription (ErrDenied), or clears the record.
func (u *uncalled) note(master string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.masters == nil {
		u.masters = map[string]error{}
	}
	if delete(u.masters, master); errors.Is(err, script.ErrDenied) {
		u.masters[master] = fmt.Errorf("%s cannot call waiters: %w", master, printable.Error(err))
	}
}

// why returns the recorded errors, or nil.
func (u *uncalled) why() (all error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(u.masters)) {
		all = printable.Join(all, u.masters[name])
	}
	return all
}

// called handles a master's notice: a call, or a grant by a release. The grant is a vote of the
// member that the notice names, even if the notice came from another master.
func (c *Client) called(master int, n script.Notice) {
	name, ok := script.NameOf(n.LockKey, c.Prefix, limits.MaxNameLen)
	switch {
	case !ok:
	case n.Owner != "":
		if v := c.Members.View(); v != nil && v.MasterOf(n.Member) >= 0 {
			c.given(v.MasterOf(n.Member), name, n.Owner, n.Grant)
		}
	default:
		c.queues.Notice(name, master, c.notices.Reach().Calls, c.Now(), func() {
			if !c.notices.AnswerUnwanted(master) {
				return
			}
			leave := c.leaveRequest(name, &c.channel)
			leave.Policy = obsoleteIf(func(int) bool { return c.Waiting(name) > 0 }) // a new waiter may have joined before the request is sent
			c.Masters[master].Submit(leave)
		})
	}
}
