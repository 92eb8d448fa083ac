package contender

import (
	"context"
	"errors"
	"math"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// redsyncClient is redsync with default options, except that it does not give up after 32 tries.
type redsyncClient struct {
	redisClients
	rs *redsync.Redsync
}

func openRedsync(urls []string) (Client, error) {
	clients, err := dialRedis(urls)
	if err != nil {
		return nil, err
	}
	var pools []redsyncredis.Pool
	for _, c := range clients {
		pools = append(pools, goredis.NewPool(c))
	}
	return redsyncClient{clients, redsync.New(pools...)}, nil
}

func (c redsyncClient) Lock(ctx context.Context, name string, wait bool) (Held, error) {
	m := c.rs.NewMutex("redsync:"+name, redsync.WithExpiry(TTL), redsync.WithTries(math.MaxInt32))
	if wait {
		return redsyncHeld{m}, m.LockContext(ctx)
	}
	return redsyncHeld{m}, m.TryLockContext(ctx)
}

type redsyncHeld struct{ m *redsync.Mutex }

func (redsyncHeld) Token() uint64 { return 0 }

func (h redsyncHeld) Unlock(ctx context.Context) error {
	ok, err := h.m.UnlockContext(ctx)
	if !ok && err == nil {
		err = errors.New("redsync: not unlocked")
	}
	return err
}
