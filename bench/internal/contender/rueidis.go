package contender

import (
	"context"
	"strings"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// rueidisClient is rueidislock on one master, with its faster settings. It waits for the master to
// say that a key changed.
type rueidisClient struct{ locks rueidislock.Locker }

func openRueidis(urls []string) (Client, error) {
	locks, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{strings.TrimPrefix(urls[0], "redis://")}},
		KeyMajority:    1,
		KeyValidity:    TTL,
		TryNextAfter:   TTL, // with one key there is no next
		NoLoopTracking: true,
	})
	return rueidisClient{locks}, err
}

func (c rueidisClient) Lock(ctx context.Context, name string, wait bool) (Held, error) {
	ask := c.locks.TryWithContext
	if wait {
		ask = c.locks.WithContext
	}
	_, release, err := ask(ctx, name)
	return rueidisHeld(release), err
}

func (c rueidisClient) Close() error {
	c.locks.Close()
	return nil
}

// rueidisHeld returns when the master has freed the lock.
type rueidisHeld context.CancelFunc

func (rueidisHeld) Token() uint64 { return 0 }

func (h rueidisHeld) Unlock(context.Context) error {
	h()
	return nil
}
