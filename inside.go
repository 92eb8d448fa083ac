package redlock

import (
	"context"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/lease"
)

// Inside returns the internals. Only this module can call it, because core.Key is of an internal package.
func Inside(core.Key) inside { return inside{} }

// inside has the functions that the other packages of this module need beyond the API.
type inside struct{}

// Client returns the internals of a client, for a call with ctx. It panics, as the client's own
// methods do, if the client is nil or zero, or if ctx is nil.
func (inside) Client(ctx context.Context, c *Client) *core.Client {
	c.check(ctx)
	return &core.Client{
		Client: c.locks,
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

// Holds returns the holds of a *Lock or *Locks, one for each name.
func (inside) Holds(of interface{ holds() []*lease.Hold }) []*lease.Hold { return of.holds() }

// Clock returns an option that makes a client use now as its clock.
func (inside) Clock(now func() clock.Instant) Option {
	return clientOption(func(c *config) { c.now = now })
}

// forceUnlock takes the lock of name away from the acquisitions in from, and releases it: see
// admin.ForceUnlock.
func (c *Client) forceUnlock(ctx context.Context, name string, from []acquire.Acquisition) (fence.Token, error) {
	o := acquire.Options{Config: lease.Config{TTL: c.defaults.TTL}, Observer: acquire.Silent{}}
	entry, err := c.locks.TakeOver(ctx, name, from, o)
	if err != nil {
		return 0, c.public(err)
	}
	lock := c.lockOf(entry, false)
	return lock.Token(), lock.unlock()
}
