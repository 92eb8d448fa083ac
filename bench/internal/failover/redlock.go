package failover

import (
	"context"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/leader"
)

// RedlockRole is a candidate of package leader of this library, as it comes but for the ttl.
const RedlockRole = "redlock-candidate"

// Redlock plays RedlockRole.
var Redlock = Candidate(func(o Order) (Elector, error) {
	client, err := redlock.Open(o.Addrs, redlock.WithTTL(o.TTL))
	if err != nil {
		return nil, err
	}
	elector, err := leader.New(client, o.Election)
	return redlockElector{elector}, err
})

type redlockElector struct{ *leader.Elector }

func (e redlockElector) Run(work func(context.Context, uint64)) error {
	return e.Elector.Run(context.Background(), func(ctx context.Context, token fence.Token) error {
		work(ctx, uint64(token))
		return nil
	})
}

func (e redlockElector) Resign() error { return e.Elector.Resign(context.Background()) }
