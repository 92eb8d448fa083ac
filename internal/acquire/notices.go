package acquire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// keepSubscribed keeps one master's subscription until ctx ends. A notice is only a hint: whoever
// waits asks by itself too, if seldom.
func (c *Client) keepSubscribed(ctx context.Context, index int) {
	m := c.Masters[index]
	for pause := master.MinRetry; ctx.Err() == nil; pause = min(2*pause, master.MaxRetry) {
		stood := false
		err := c.canCall(ctx, m)
		if err == nil {
			err = m.Subscribe(ctx, c.channel, func() {
				stood = true
				c.uncalled.note(m.Name, nil)
				c.notices.Set(ctx, index, true)
			}, c.called)
		}
		c.notices.Set(ctx, index, false)
		c.uncalled.note(m.Name, err)
		if stood {
			pause = master.MinRetry
		}
		rest := pause
		if _, giant := errors.AsType[*master.ProtocolError](err); giant || master.IsReply(err) {
			rest = AskInterval // it refuses, say for want of a permission, and will again; or somebody floods the channel
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
	}
}

// canCall reports why a master cannot call the client, by a message to it that is no notice. (A
// script that calls cannot tell: it serves another client then.)
func (c *Client) canCall(ctx context.Context, m *master.Master) error {
	replies, err := m.Do(ctx, master.Text("publish", c.channel, ""))
	if err != nil {
		return err
	}
	return replies[0].Err()
}

// Uncalled tells why masters cannot call this client, or returns nil.
func (c *Client) Uncalled() error { return c.uncalled.why() }

// uncalled has why masters that do not allow it cannot call the client: its waiters poll, and who
// is never called is served after the others.
type uncalled struct {
	mu      sync.Mutex
	masters map[string]error
}

// note takes why a subscription ended.
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

// why returns the reasons of all masters, or nil.
func (u *uncalled) why() (all error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(u.masters)) {
		all = printable.Join(all, u.masters[name])
	}
	return all
}

// called is told what a master's notice says: the key of a lock that it keeps for this client; or
// "standby" and the key of one that it keeps for another, behind whom this client is the first; or
// "given", the owner and the grant number, and the key of one that a release granted to that owner.
func (c *Client) called(master int, notice string) {
	lockKey, standby := strings.CutPrefix(notice, "standby ")
	owner, grant := "", int64(0)
	if given, is := strings.CutPrefix(notice, "given "); is {
		owner, grant, lockKey = script.ParseGiven(given)
	}
	name, ok := script.NameOf(lockKey, c.Prefix, limits.MaxNameLen)
	switch {
	case !ok:
	case owner != "":
		c.given(master, name, owner, grant)
	case standby:
		c.queues.StandBy(name)
	default:
		c.queues.Notice(name, master, c.notices.Quorum(), func() {
			if !c.notices.AnswerUnwanted(master) {
				return
			}
			leave := c.leaveRequest(name, &c.channel)
			leave.Policy = obsoleteIf(func(int) bool { return c.Waiting(name) > 0 }) // who waits by now may leave before it
			c.Masters[master].Submit(leave)
		})
	}
}
