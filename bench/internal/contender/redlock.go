package contender

import (
	"context"

	"github.com/redlock-go/redlock"
)

// fair is what makes a client serve waiters in the order of their tickets.
var fair = []redlock.Option{redlock.WithFair()}

// openRedlock is this library, as it comes but for the ttl: with watchdog, tokens and loss
// detection.
func openRedlock(more ...redlock.Option) func([]string) (Client, error) {
	return func(urls []string) (Client, error) {
		c, err := redlock.Open(urls, append([]redlock.Option{redlock.WithTTL(TTL)}, more...)...)
		if err != nil {
			return nil, err
		}
		return redlockClient{c}, nil
	}
}

type redlockClient struct{ *redlock.Client }

func (c redlockClient) Lock(ctx context.Context, name string, wait bool) (Held, error) {
	ask := c.TryLock
	if wait {
		ask = c.Client.Lock
	}
	lock, err := ask(ctx, name)
	return (*redlockHeld)(lock), err
}

type redlockHeld redlock.Lock

func (h *redlockHeld) Token() uint64 { return uint64((*redlock.Lock)(h).Token()) }

func (h *redlockHeld) Unlock(ctx context.Context) error { return (*redlock.Lock)(h).Unlock(ctx) }
