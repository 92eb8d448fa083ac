package docs_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/leader"
)

func pay(ctx context.Context, token fence.Token) error { return ctx.Err() }

// What the pages about other libraries show in their place.

func afterRedsync(ctx context.Context, client *redlock.Client) error {
	// shown: migrate/redsync.md
	lock, err := client.Lock(ctx, "payroll", redlock.WithTTL(30*time.Second), redlock.WithWait(time.Minute))
	if errors.Is(err, redlock.ErrHeld) {
		return nil // somebody else is at it
	}
	if err != nil {
		return err
	}
	defer lock.Unlock(ctx)
	return pay(lock.Context(), lock.Token()) // the context ends when the lock is lost
	// end
}

func afterRueidislock(ctx context.Context, client *redlock.Client) error {
	// shown: migrate/rueidislock.md
	lock, err := client.Lock(ctx, "payroll", redlock.WithTTL(5*time.Second))
	if err != nil {
		return err
	}
	defer lock.Unlock(ctx)
	return pay(lock.Context(), lock.Token())
	// end
}

func afterRedislock(ctx context.Context, client *redlock.Client) error {
	// shown: migrate/redislock.md
	lock, err := client.Lock(ctx, "payroll", redlock.WithTTL(30*time.Second), redlock.WithWait(10*time.Second))
	if errors.Is(err, redlock.ErrHeld) {
		return nil // somebody else is at it
	}
	if err != nil {
		return err
	}
	defer lock.Unlock(ctx)
	return pay(lock.Context(), lock.Token()) // renewed by itself
	// end
}

func afterRedisson(ctx context.Context, client *redlock.Client) error {
	// shown: migrate/redisson.md
	lock, err := client.Lock(ctx, "payroll", redlock.WithWait(10*time.Second))
	if errors.Is(err, redlock.ErrHeld) {
		return nil // not within 10 s
	}
	if err != nil {
		return err
	}
	defer lock.Unlock(ctx)
	return pay(lock.Context(), lock.Token())
	// end
}

func afterEtcd(ctx context.Context, client *redlock.Client) error {
	// shown: migrate/etcd.md
	lock, err := client.Lock(ctx, "payroll", redlock.WithTTL(15*time.Second), redlock.WithFair())
	if err != nil {
		return err
	}
	defer lock.Unlock(ctx)
	return pay(lock.Context(), lock.Token())
	// end
}

func afterLeaderelection(ctx context.Context, client *redlock.Client) error {
	ctx, cancel := context.WithCancel(ctx)
	var ended error
	schedule := func(context.Context, fence.Token) error { cancel(); return nil }
	run := func() error {
		// shown: migrate/leaderelection.md
		elector, err := leader.New(client, "scheduler",
			leader.WithLock(redlock.WithTTL(15*time.Second)),
			leader.WithCallbacks(leader.Callbacks{
				SteppedDown: func(_ fence.Token, cause error) { ended = cause },
			}))
		if err != nil {
			return err
		}
		return elector.Run(ctx, schedule) // until ctx ends: it campaigns again after each term
		// end
	}
	if err := run(); !errors.Is(err, context.Canceled) || ended == nil {
		return errors.Join(errors.New("the term did not end as it should"), err, ended)
	}
	return nil
}

func TestWhatPagesOfOtherLibrariesShow(t *testing.T) {
	client, stop := open()
	defer stop()
	for _, run := range []func(context.Context, *redlock.Client) error{
		afterRedsync, afterRueidislock, afterRedislock, afterRedisson, afterEtcd, afterLeaderelection,
	} {
		must(t, run(t.Context(), client))
	}
}
