package redlock

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// keepSubscribed keeps one master's subscription until ctx ends. A notice is only a
// hint: whoever waits asks by itself too, if seldom.
func (c *Client) keepSubscribed(ctx context.Context, index int) {
	m := c.masters[index]
	for pause := master.MinRetry; ctx.Err() == nil; pause = min(2*pause, master.MaxRetry) {
		stood := false
		err := m.Subscribe(ctx, c.channel, func() {
			stood = true
			c.notices.Set(ctx, index, true)
		}, c.called)
		c.notices.Set(ctx, index, false)
		if stood {
			pause = master.MinRetry
		}
		rest := pause
		if _, giant := errors.AsType[*master.ProtocolError](err); giant || master.IsReply(err) {
			rest = askInterval // it refuses, say for want of a permission, and will again; or somebody floods the channel
		}
		select {
		case <-ctx.Done():
		case <-time.After(rest):
		}
	}
}

// called is told what a master's notice says: the key of a lock that it keeps for
// this client, or "standby" and the key of one that it keeps for another, behind
// whom this client is the first.
func (c *Client) called(master int, notice string) {
	lockKey, standby := strings.CutPrefix(notice, "standby ")
	name, ok := script.NameOf(lockKey, c.prefix, MaxNameLen)
	switch {
	case !ok:
	case standby:
		c.queues.StandBy(name)
	default:
		c.queues.Notice(name, master, c.notices.Quorum(), func() {
			if !c.notices.AnswerUnwanted(master) {
				return
			}
			leave := c.leaveRequest(name)
			c.masters[master].Submit(&leave)
		})
	}
}
