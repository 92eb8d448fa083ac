package docs_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/leader"
)

func pay(ctx context.Context, token fence.Token) error { return ctx.Err() }

// shown: migrate/README.md

var errOldLost = errors.New("the old lock was lost")

// keepOld renews a lock of the old library, of which the lease ends at until, and after each extend at
// what that returns. The context that it returns ends when the lease does. stop ends the renewals.
func keepOld(ctx context.Context, until time.Time, extend func(context.Context) (time.Time, error)) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	end := time.AfterFunc(time.Until(until), func() { cancel(errOldLost) })
	var renewals sync.WaitGroup
	renewals.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(max(time.Until(until)/3, 20*time.Millisecond)):
			}
			if later, err := extend(ctx); err == nil && ctx.Err() == nil {
				until = later
				end.Reset(time.Until(until))
			}
		}
	})
	return ctx, func() {
		cancel(nil)
		end.Stop()
		renewals.Wait()
	}
}

// end

// While the old lock can be renewed, its context lives; once it cannot, it ends with the lease.
func TestKeepOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lease = 9 * time.Second
		begun := time.Now()
		ctx, stop := keepOld(t.Context(), begun.Add(lease), func(context.Context) (time.Time, error) {
			asked := time.Now()
			if asked.Sub(begun) > time.Minute {
				return time.Time{}, errors.New("unreachable")
			}
			return asked.Add(lease), nil
		})
		defer stop()
		<-ctx.Done()
		if lived := time.Since(begun); lived <= time.Minute || lived > time.Minute+lease {
			t.Errorf("the context lived for %v", lived)
		}
		if cause := context.Cause(ctx); !errors.Is(cause, errOldLost) {
			t.Errorf("its cause is %v", cause)
		}
	})
}

// An extend that hangs does not keep the context alive.
func TestKeepOldWhileExtendHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const lease = 9 * time.Second
		begun := time.Now()
		ctx, stop := keepOld(t.Context(), begun.Add(lease), func(context.Context) (time.Time, error) {
			time.Sleep(time.Minute)
			return time.Now().Add(lease), nil
		})
		defer stop()
		<-ctx.Done()
		if lived := time.Since(begun); lived != lease {
			t.Errorf("the context lived for %v", lived)
		}
	})
}

// Both locks are held while work runs.
func Example_underBoth() {
	client, stop := open()
	defer stop()
	ctx := context.Background()
	oldUntil := time.Now().Add(time.Minute)
	extendOld := func(context.Context) (time.Time, error) { return time.Now().Add(time.Minute), nil }
	unlockOld := func() { fmt.Println("old unlocked") }

	// shown: migrate/README.md
	payroll := func(ctx context.Context) error { // the old lock is held
		defer unlockOld()
		ctx, stop := keepOld(ctx, oldUntil, extendOld)
		defer stop()
		return client.Do(ctx, "payroll", pay, redlock.WithWait(5*time.Second))
	}
	// end

	fmt.Println(payroll(ctx))
	// Output:
	// old unlocked
	// <nil>
}

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
