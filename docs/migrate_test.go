package docs_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/leader"
)

func pay(ctx context.Context, token fence.Token) error { return ctx.Err() }

func Example_afterRedsync() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	payroll := func() error {
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
	fmt.Println(payroll())
	// Output: <nil>
}

func Example_afterRueidislock() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	payroll := func() error {
		// shown: migrate/rueidislock.md
		lock, err := client.Lock(ctx, "payroll", redlock.WithTTL(5*time.Second))
		if err != nil {
			return err
		}
		defer lock.Unlock(ctx)
		return pay(lock.Context(), lock.Token())
		// end
	}
	fmt.Println(payroll())
	// Output: <nil>
}

func Example_afterRedislock() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	payroll := func() error {
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
	fmt.Println(payroll())
	// Output: <nil>
}

func Example_afterRedisson() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	payroll := func() error {
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
	fmt.Println(payroll())
	// Output: <nil>
}

func Example_afterEtcd() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	payroll := func() error {
		// shown: migrate/etcd.md
		lock, err := client.Lock(ctx, "payroll", redlock.WithTTL(15*time.Second), redlock.WithFair())
		if err != nil {
			return err
		}
		defer lock.Unlock(ctx)
		return pay(lock.Context(), lock.Token())
		// end
	}
	fmt.Println(payroll())
	// Output: <nil>
}

func Example_afterLeaderelection() {
	client, stop := open()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	schedule := func(ctx context.Context, token fence.Token) error {
		fmt.Println("leading:", token.Valid())
		cancel()
		return nil
	}
	var ended error
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
	fmt.Println(run())
	fmt.Println("why the term ended is told:", ended != nil)
	// Output:
	// leading: true
	// context canceled
	// why the term ended is told: true
}
