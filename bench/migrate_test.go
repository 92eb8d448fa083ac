package main

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// The pieces of docs/migrate that call other libraries. They are compiled, and not run. Here are the names that they rest on.
var (
	client  *redlock.Client
	clients []*goredislib.Client
	one     *goredislib.Client
	rs      *redsync.Redsync
	locker  *redislock.Client

	payOld  func(context.Context) error
	pay     func(context.Context, fence.Token) error
	keepOld func(ctx context.Context, until time.Time, extend func(context.Context) (time.Time, error)) (_ context.Context, stop func())
)

var _ = func(ctx context.Context) error {
	// shown: migrate/redsync.md
	rs := redsync.New(goredis.NewPool(clients[0]), goredis.NewPool(clients[1]), goredis.NewPool(clients[2]))
	mutex := rs.NewMutex("payroll", redsync.WithExpiry(30*time.Second), redsync.WithTries(300))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer mutex.UnlockContext(ctx)
	return payOld(ctx) // nobody renews the lock, nobody tells when it is lost
	// end
}

var _ = func(ctx context.Context) error {
	// shown: migrate/redsync.md
	mutex := rs.NewMutex("payroll", redsync.WithExpiry(30*time.Second), redsync.WithTries(300))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer mutex.Unlock()
	ctx, stop := keepOld(ctx, mutex.Until(), func(ctx context.Context) (time.Time, error) {
		extended, err := mutex.ExtendContext(ctx)
		if !extended {
			return time.Time{}, errors.Join(errors.New("not extended"), err)
		}
		return mutex.Until(), nil
	})
	defer stop()
	return client.Do(ctx, "payroll", pay, redlock.WithWait(5*time.Second))
	// end
}

var _ = func(ctx context.Context) error {
	// shown: migrate/redislock.md
	locker := redislock.New(one)
	lock, err := locker.Obtain(ctx, "payroll", 30*time.Second, &redislock.Options{
		RetryStrategy: redislock.LimitRetry(redislock.LinearBackoff(100*time.Millisecond), 100),
	})
	if errors.Is(err, redislock.ErrNotObtained) {
		return nil // somebody else is at it
	}
	if err != nil {
		return err
	}
	defer lock.Release(ctx)
	return payOld(ctx) // and call lock.Refresh now and then
	// end
}

var _ = func(ctx context.Context) error {
	// shown: migrate/redislock.md
	const ttl = 30 * time.Second
	asked := time.Now()
	lock, err := locker.Obtain(ctx, "payroll", ttl, nil)
	if err != nil {
		return err
	}
	defer lock.Release(context.WithoutCancel(ctx))
	ctx, stop := keepOld(ctx, asked.Add(ttl), func(ctx context.Context) (time.Time, error) {
		asked := time.Now()
		return asked.Add(ttl), lock.Refresh(ctx, ttl, nil)
	})
	defer stop()
	return client.Do(ctx, "payroll", pay, redlock.WithWait(5*time.Second))
	// end
}
