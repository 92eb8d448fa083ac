package redlock

import (
	"context"

	"github.com/redlock-go/redlock/internal/core"
	"github.com/redlock-go/redlock/internal/membership"
)

func init() {
	core.Of = func(ctx context.Context, client any) *core.Client {
		c := client.(*Client)
		c.check(ctx)
		return c.inside()
	}
	core.CheckOneHolder = func(client, opts any) error { return client.(*Client).checkOneHolder(opts.([]LockOption)) }
}

// inside is what package admin sees of the client.
func (c *Client) inside() *core.Client {
	return &core.Client{
		Prefix:         c.prefix,
		RequestTimeout: c.requestTimeout,
		Now:            c.now,
		Masters:        c.masters,
		Members:        c.members,
		Closed:         c.closed,
		Enter: func(ctx context.Context) (func(), error) {
			if err := c.enter(ctx); err != nil {
				return nil, err
			}
			return c.calls.Done, nil
		},
		Go:        c.calls.Go,
		CheckName: validateName,
		MayAsk: func(ctx context.Context, op, name string) error {
			return c.mayAsk(ctx, op, name, nil)
		},
		FirstView: func(ctx context.Context, op string) (*membership.View, error) {
			return c.firstView(ctx, op, noName)
		},
		UnknownMembers:     func(op string) error { return c.unknownMembers(op, noName) },
		WhileMembersChange: c.whileMembersChange,
		ForceUnlock:        c.forceUnlock,
	}
}
