package main

import (
	"context"
	"strings"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/redlock-go/redlock/bench/internal/contender"
)

// rueidisClient is rueidislock on one master, with its faster settings. It waits for the master's
// message that a key has changed.
type rueidisClient struct{ locks rueidislock.Locker }

func openClient(urls []string) (contender.Client, error) {
	locks, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{strings.TrimPrefix(urls[0], "redis://")}},
		KeyMajority:    1,
		KeyValidity:    contender.TTL,
		TryNextAfter:   contender.TTL, // without effect, because there is only one key
		NoLoopTracking: true,
	})
	return rueidisClient{locks}, err
}

func (c rueidisClient) Lock(ctx context.Context, name string, wait bool) (contender.Held, error) {
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

// rueidisHeld is the function that frees the lock. It returns when the master has freed the lock.
type rueidisHeld context.CancelFunc

func (rueidisHeld) Token() uint64 { return 0 }

func (h rueidisHeld) Unlock(context.Context) error {
	h()
	return nil
}
