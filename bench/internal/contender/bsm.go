package contender

import (
	"context"
	"time"

	"github.com/bsm/redislock"
)

// bsmBackoff is the wait between two tries, as in the example of redislock's documentation.
const bsmBackoff = 100 * time.Millisecond

// bsmClient is bsm/redislock on one master. It waits by polling.
type bsmClient struct {
	redisClients
	locks *redislock.Client
}

func openBsm(urls []string) (Client, error) {
	clients, err := dialRedis(urls[:1])
	if err != nil {
		return nil, err
	}
	return bsmClient{clients, redislock.New(clients[0])}, nil
}

func (c bsmClient) Lock(ctx context.Context, name string, wait bool) (Held, error) {
	retry := redislock.NoRetry()
	if wait {
		retry = redislock.LinearBackoff(bsmBackoff)
	}
	lock, err := c.locks.Obtain(ctx, "bsm:"+name, TTL, &redislock.Options{RetryStrategy: retry})
	return bsmHeld{lock}, err
}

type bsmHeld struct{ lock *redislock.Lock }

func (bsmHeld) Token() uint64 { return 0 }

func (h bsmHeld) Unlock(ctx context.Context) error { return h.lock.Release(ctx) }
