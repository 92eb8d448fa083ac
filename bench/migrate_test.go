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

// What docs/migrate shows of step 1, and of redsync and bsm/redislock before and in it. It is run here as it stands there.

// shown: migrate/README.md

var errOldLost = errors.New("the old lock was lost")

// keepOld renews a lock of the old library. Its lease ends at until; extend returns the new end. The
// context that keepOld returns ends with the lease. stop ends the renewals.
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

// While the old lock can be renewed, its context lives; once it cannot, or an extend hangs, it ends
// with the lease.
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

func bothWithAny(ctx context.Context, client *redlock.Client, oldUntil time.Time, extendOld func(context.Context) (time.Time, error), unlockOld func(), pay func(context.Context, fence.Token) error) error {
	// shown: migrate/README.md
	payroll := func(ctx context.Context) error { // the old lock is held
		defer unlockOld()
		ctx, stop := keepOld(ctx, oldUntil, extendOld)
		defer stop()
		return client.Do(ctx, "payroll", pay, redlock.WithWait(5*time.Second))
	}
	// end
	return payroll(ctx)
}

// step is a process at a step of the move: it runs work under the locks of that step, with
// connections of its own.
type step func(ctx context.Context, clients []*goredislib.Client, client *redlock.Client, work work) error

type work = func(context.Context) error

// old are the libraries, with what processes at steps 0 and 1 do.
var old = map[string]struct{ before, both step }{
	"redsync": {
		func(ctx context.Context, clients []*goredislib.Client, _ *redlock.Client, work work) error {
			return beforeRedsync(ctx, clients, work)
		},
		func(ctx context.Context, clients []*goredislib.Client, client *redlock.Client, work work) error {
			rs := redsync.New(goredis.NewPool(clients[0]), goredis.NewPool(clients[1]), goredis.NewPool(clients[2]))
			return bothWithRedsync(ctx, rs, client, lease, func(ctx context.Context, _ fence.Token) error { return work(ctx) })
		},
	},
	"redislock": {
		func(ctx context.Context, clients []*goredislib.Client, _ *redlock.Client, work work) error {
			return beforeRedislock(ctx, clients[0], work)
		},
		func(ctx context.Context, clients []*goredislib.Client, client *redlock.Client, work work) error {
			for {
				err := bothWithRedislock(ctx, redislock.New(clients[0]), client, lease, func(ctx context.Context, _ fence.Token) error { return work(ctx) })
				if !errors.Is(err, redislock.ErrNotObtained) || ctx.Err() != nil {
					return err
				}
				time.Sleep(10 * time.Millisecond)
			}
		},
	},
}

const (
	lease    = 4 * time.Second
	patience = 30 * time.Second // only a failing test waits so long
)

// process is a step under way.
type process struct {
	clients  []*goredislib.Client
	begun    chan struct{}
	release  chan struct{}
	ended    chan error
	answered atomic.Int64 // commands of the old lock, by the first server
}

// begin starts a process at a step. Its work goes on until it is released or its context ends.
func begin(t *testing.T, urls []string, s step) *process {
	t.Helper()
	p := &process{begun: make(chan struct{}), release: make(chan struct{}), ended: make(chan error, 1)}
	for i, url := range urls {
		opts, err := goredislib.ParseURL(url)
		must(t, err)
		c := goredislib.NewClient(opts)
		t.Cleanup(func() { _ = c.Close() })
		if i == 0 {
			c.AddHook(p)
		}
		p.clients = append(p.clients, c)
	}
	client := open(t, urls)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	go func() {
		p.ended <- s(ctx, p.clients, client, func(ctx context.Context) error {
			close(p.begun)
			select {
			case <-p.release:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	return p
}

func open(t *testing.T, urls []string) *redlock.Client {
	t.Helper()
	c, err := redlock.Open(urls, redlock.WithRequestTimeout(time.Second))
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

func (p *process) DialHook(next goredislib.DialHook) goredislib.DialHook { return next }

func (p *process) ProcessPipelineHook(next goredislib.ProcessPipelineHook) goredislib.ProcessPipelineHook {
	return next
}

func (p *process) ProcessHook(next goredislib.ProcessHook) goredislib.ProcessHook {
	return func(ctx context.Context, cmd goredislib.Cmder) error {
		defer p.answered.Add(1)
		return next(ctx, cmd)
	}
}

// works waits until the work has begun.
func (p *process) works(t *testing.T) {
	t.Helper()
	select {
	case <-p.begun:
	case err := <-p.ended:
		t.Fatalf("it ended before it worked: %v", err)
	}
}

// asks waits for so many more answers of the first server.
func (p *process) asks(t *testing.T, more int64) {
	t.Helper()
	until := p.answered.Load() + more
	for begun := time.Now(); p.answered.Load() < until; time.Sleep(2 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatal("it does not ask")
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Processes at step 0 and at step 1 exclude each other, whoever comes first. So do two at step 1,
// which also excludes step 2. At step 1 the work goes on while the old lock can be renewed, and ends
// when its key is gone; then the new lock is free.
func TestStepsExcludeEachOther(t *testing.T) {
	t.Parallel()
	for name, library := range old {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, err := server.StartRedis(3, 0)
			testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
			must(t, err)
			t.Cleanup(servers.Stop)
			var p *process
			for i, pair := range [][2]step{{library.before, library.both}, {library.both, library.before}, {library.both, library.both}} {
				first := begin(t, servers.Addrs, pair[0])
				first.works(t)
				p = begin(t, servers.Addrs, pair[1])
				p.asks(t, 6) // it was refused, and tries again
				select {
				case <-p.begun:
					t.Fatal("both work at a time")
				default:
				}
				close(first.release)
				must(t, <-first.ended)
				p.works(t)
				if i < 2 {
					close(p.release)
					must(t, <-p.ended)
				}
			}
			other := open(t, servers.Addrs)
			if _, err := other.TryLock(t.Context(), "payroll"); !errors.Is(err, redlock.ErrHeld) {
				t.Errorf("a process at step 2 got %v", err)
			}
			p.asks(t, 4) // it renews for longer than a lease
			select {
			case err := <-p.ended:
				t.Fatalf("it ended although the old lock was there: %v", err)
			default:
			}
			for _, c := range p.clients {
				must(t, c.Del(t.Context(), "payroll").Err())
			}
			if err := <-p.ended; !errors.Is(err, errOldLost) {
				t.Errorf("the work ended with %v", err)
			}
			lock, err := other.TryLock(t.Context(), "payroll")
			must(t, err)
			must(t, lock.Unlock(t.Context()))
		})
	}
}
