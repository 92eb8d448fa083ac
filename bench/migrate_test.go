package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// These tests run the code that docs/migrate has for step 1, for programs that used redsync or bsm/redislock.

var errOldLost = errors.New("the old lock was lost")

// keepOld renews a lock of the old library. At first, the lease ends at the given time. extend() extends the
// lease and returns its new end. The returned context ends with the lease. stop() ends the renewals.
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

// While the old lock is renewed, the context lives. If extend() fails or hangs, the context ends with the old lock's
// lease.
func TestKeepOld(t *testing.T) {
	t.Parallel()
	const lease = 9 * time.Second
	for name, c := range map[string]struct {
		refusedAfter, hangs time.Duration
		atLeast, atMost     time.Duration
	}{
		"refused": {time.Minute, 0, time.Minute, time.Minute + lease},
		"hangs":   {time.Hour, time.Minute, lease, lease},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ctx, stop := keepOld(t.Context(), begun.Add(lease), func(context.Context) (time.Time, error) {
					asked := time.Now()
					time.Sleep(c.hangs)
					if asked.Sub(begun) > c.refusedAfter {
						return time.Time{}, errors.New("unreachable")
					}
					return asked.Add(lease), nil
				})
				defer stop()
				<-ctx.Done()
				if lived := time.Since(begun); lived < c.atLeast || lived > c.atMost || !errors.Is(context.Cause(ctx), errOldLost) {
					t.Errorf("the context lived for %v, and ended with %v", lived, context.Cause(ctx))
				}
			})
		})
	}
}

func beforeRedsync(ctx context.Context, clients []*goredislib.Client, payOld func(context.Context) error) error {
	rs := redsync.New(goredis.NewPool(clients[0]), goredis.NewPool(clients[1]), goredis.NewPool(clients[2]))
	mutex := rs.NewMutex("payroll", redsync.WithExpiry(30*time.Second), redsync.WithTries(300))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	defer mutex.UnlockContext(ctx)
	return payOld(ctx)
}

func bothWithRedsync(ctx context.Context, rs *redsync.Redsync, client *redlock.Client, lease time.Duration, pay func(context.Context, fence.Token) error) error {
	// shown: migrate/redsync.md
	mutex := rs.NewMutex("payroll", redsync.WithExpiry(lease), redsync.WithTries(300))
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

func beforeRedislock(ctx context.Context, one *goredislib.Client, payOld func(context.Context) error) error {
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
	return payOld(ctx)
}

func bothWithRedislock(ctx context.Context, locker *redislock.Client, client *redlock.Client, lease time.Duration, pay func(context.Context, fence.Token) error) error {
	// shown: migrate/redislock.md
	asked := time.Now()
	lock, err := locker.Obtain(ctx, "payroll", lease, nil)
	if err != nil {
		return err
	}
	defer lock.Release(context.WithoutCancel(ctx))
	ctx, stop := keepOld(ctx, asked.Add(lease), func(ctx context.Context) (time.Time, error) {
		asked := time.Now()
		return asked.Add(lease), lock.Refresh(ctx, lease, nil)
	})
	defer stop()
	return client.Do(ctx, "payroll", pay, redlock.WithWait(5*time.Second))
	// end
}

// process is a process at a step of the migration, with its own connections.
type process struct {
	clients []*goredislib.Client
	client  *redlock.Client
}

type work = func(context.Context) error

// old has, for each old library, the code of a process at step 0 and at step 1.
var old = map[string]struct {
	before, both func(p process, ctx context.Context, do work) error
}{
	"redsync": {
		func(p process, ctx context.Context, do work) error { return beforeRedsync(ctx, p.clients, do) },
		func(p process, ctx context.Context, do work) error {
			rs := redsync.New(goredis.NewPool(p.clients[0]), goredis.NewPool(p.clients[1]), goredis.NewPool(p.clients[2]))
			return bothWithRedsync(ctx, rs, p.client, lease, func(ctx context.Context, _ fence.Token) error { return do(ctx) })
		},
	},
	"redislock": {
		func(p process, ctx context.Context, do work) error { return beforeRedislock(ctx, p.clients[0], do) },
		func(p process, ctx context.Context, do work) error {
			for {
				err := bothWithRedislock(ctx, redislock.New(p.clients[0]), p.client, lease, func(ctx context.Context, _ fence.Token) error { return do(ctx) })
				if !errors.Is(err, redislock.ErrNotObtained) || ctx.Err() != nil {
					return err
				}
				time.Sleep(10 * time.Millisecond)
			}
		},
	},
}

const lease = 4 * time.Second

func newProcess(t *testing.T, urls []string) (p process) {
	t.Helper()
	for _, url := range urls {
		opts, err := goredislib.ParseURL(url)
		must(t, err)
		c := goredislib.NewClient(opts)
		t.Cleanup(func() { _ = c.Close() })
		p.clients = append(p.clients, c)
	}
	var err error
	p.client, err = redlock.Open(urls, redlock.WithRequestTimeout(time.Second))
	must(t, err)
	t.Cleanup(func() { must(t, p.client.Close()) })
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Processes at step 0 and at step 1 exclude each other. Two processes at step 1 exclude each other, too.
func TestStepsExcludeEachOther(t *testing.T) {
	t.Parallel()
	for name, library := range old {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			urls := startServers(t)
			var working atomic.Int64
			var processes sync.WaitGroup
			for _, step := range []func(process, context.Context, work) error{library.before, library.both, library.both} {
				p := newProcess(t, urls)
				processes.Go(func() {
					for range 5 {
						if err := step(p, t.Context(), func(ctx context.Context) error {
							if working.Add(1) != 1 {
								t.Error("two work at a time")
							}
							defer working.Add(-1)
							time.Sleep(10 * time.Millisecond)
							return ctx.Err()
						}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			processes.Wait()
		})
	}
}

func startServers(t *testing.T) (urls []string) {
	t.Helper()
	servers, err := server.StartRedis(3, 0)
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	must(t, err)
	t.Cleanup(servers.Stop)
	return servers.Addrs
}

// A process at step 1 excludes processes at step 2, for longer than one lease of the old lock. Its work ends when
// the old key is deleted. Then the new lock is free.
func TestWorkEndsWithOldLock(t *testing.T) {
	t.Parallel()
	for name, library := range old {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			urls := startServers(t)
			p, other := newProcess(t, urls), newProcess(t, urls)
			err := library.both(p, t.Context(), func(ctx context.Context) error {
				if _, err := other.client.TryLock(ctx, "payroll"); !errors.Is(err, redlock.ErrHeld) {
					t.Errorf("a process at step 2 got %v", err)
				}
				select {
				case <-time.After(lease + lease/2):
				case <-ctx.Done():
					t.Error("it ended although the old lock was there")
				}
				for _, c := range p.clients {
					must(t, c.Del(ctx, "payroll").Err())
				}
				<-ctx.Done()
				return context.Cause(ctx)
			})
			if !errors.Is(err, errOldLost) {
				t.Errorf("the work ended with %v", err)
			}
			lock, err := other.client.TryLock(t.Context(), "payroll")
			must(t, err)
			must(t, lock.Unlock(t.Context()))
		})
	}
}
