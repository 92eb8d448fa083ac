package contender

import (
	"context"

	"github.com/redlock-go/redlock"
)

// openRedlock opens a client of this library with default options, except for the ttl. So the watchdog, tokens and
// loss detection are on.
func openRedlock(urls []string) (Client, error) {
	c, err := redlock.Open(urls, redlock.WithTTL(TTL))
	return redlockClient{c}, err
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
