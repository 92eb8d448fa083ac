package redlock

import (
	"context"
	"math"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/lease"
)

func init() {
	core.Of = func(ctx context.Context, client any) *core.Client {
		c := client.(*Client)
		c.check(ctx)
		return c.inside()
	}
	core.Until = func(lock any) clock.Instant {
		if l, is := lock.(*Lock); is {
			return l.h.Until()
		}
		first := clock.Instant(math.MaxInt64)
		for _, h := range lock.(*Locks).holds() {
			first = min(first, h.Until())
		}
		return first
	}
	core.TTL = func(lock any) time.Duration {
		if l, is := lock.(*Lock); is {
			return l.h.Terms().TTL
		}
		return lock.(*Locks).holds()[0].Terms().TTL // one call acquired them all
	}
}

// inside returns the client's internals for package admin.
func (c *Client) inside() *core.Client {
	return &core.Client{
		Asker:  c.asker,
		Prefix: c.prefix,
		Enter: func(ctx context.Context) (func(), error) {
			if err := c.enter(ctx); err != nil {
				return nil, err
			}
			return c.calls.Done, nil
		},
		Go:          c.calls.Go,
		CheckName:   validateName,
		MayAsk:      c.mayAsk,
		Public:      c.public,
		ForceUnlock: c.forceUnlock,
	}
}

// forceUnlock takes the lock of that name from these acquisitions, and releases it: see
// admin.ForceUnlock.
func (c *Client) forceUnlock(ctx context.Context, name string, from []acquire.Acquisition) (fence.Token, error) {
	o := acquire.Options{Config: lease.Config{TTL: c.defaults.TTL}, Observer: acquire.Silent{}}
	entry, err := c.locks.TakeOver(ctx, name, from, o)
	if err != nil {
		return 0, c.public(err)
	}
	lock := c.lockOf(entry, false)
	return lock.Token(), lock.Unlock(ctx)
}
