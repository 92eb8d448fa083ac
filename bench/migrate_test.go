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
	"github.com/redlock-go/redlock/admin"
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

// step is a process at a step of the move: it runs work under the locks of that step.
type step func(ctx context.Context, work func(context.Context) error) error

// old are the libraries, with what processes at steps 0 and 1 do. A process has clients of its own.
var old = map[string]struct {
	before func(clients []*goredislib.Client) step
	both   func(clients []*goredislib.Client, client *redlock.Client, lease time.Duration) step
}{
	"redsync": {
		func(clients []*goredislib.Client) step {
			return func(ctx context.Context, work func(context.Context) error) error {
				return beforeRedsync(ctx, clients, work)
			}
		},
		func(clients []*goredislib.Client, client *redlock.Client, lease time.Duration) step {
			rs := redsync.New(goredis.NewPool(clients[0]), goredis.NewPool(clients[1]), goredis.NewPool(clients[2]))
			return func(ctx context.Context, work func(context.Context) error) error {
				return bothWithRedsync(ctx, rs, client, lease, func(ctx context.Context, _ fence.Token) error { return work(ctx) })
			}
		},
	},
	"redislock": {
		func(clients []*goredislib.Client) step {
			return func(ctx context.Context, work func(context.Context) error) error {
				return beforeRedislock(ctx, clients[0], work)
			}
		},
		func(clients []*goredislib.Client, client *redlock.Client, lease time.Duration) step {
			locker := redislock.New(clients[0])
			return func(ctx context.Context, work func(context.Context) error) error {
				for {
					err := bothWithRedislock(ctx, locker, client, lease, func(ctx context.Context, _ fence.Token) error { return work(ctx) })
					if !errors.Is(err, redislock.ErrNotObtained) || ctx.Err() != nil {
						return err
					}
					time.Sleep(10 * time.Millisecond)
				}
			}
		},
	},
}

// patience is how long a test waits for what must come: only a failing one does.
const patience = 30 * time.Second

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually polls for a state that nothing announces, with a deadline.
func eventually(t *testing.T, what string, state func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !state() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// servers are three that have the old lock, and are the masters of the new one.
type servers struct {
	t    *testing.T
	urls []string
	raw  []*goredislib.Client
}

func startServers(t *testing.T) *servers {
	t.Helper()
	running, err := redisproc.StartN(3, redisproc.Config{})
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	must(t, err)
	s := &servers{t: t}
	for _, r := range running {
		t.Cleanup(func() { must(t, r.Stop()) })
		s.urls = append(s.urls, r.URL())
	}
	s.raw, _ = s.clients()
	c := s.open()
	must(t, admin.Init(t.Context(), c, 0))
	return s
}

// open returns a Client.
func (s *servers) open() *redlock.Client {
	s.t.Helper()
	c, err := redlock.Open(s.urls, redlock.WithRequestTimeout(time.Second))
	must(s.t, err)
	s.t.Cleanup(func() { must(s.t, c.Close()) })
	return c
}

// clients returns clients for an old lock, and the number of its commands that the first server has answered.
func (s *servers) clients() ([]*goredislib.Client, *atomic.Int64) {
	s.t.Helper()
	answered := new(answers)
	var clients []*goredislib.Client
	for i, url := range s.urls {
		opts, err := goredislib.ParseURL(url)
		must(s.t, err)
		c := goredislib.NewClient(opts)
		s.t.Cleanup(func() { must(s.t, c.Close()) })
		if i == 0 {
			c.AddHook(answered)
		}
		clients = append(clients, c)
	}
	return clients, &answered.n
}

// answers counts the commands of old locks that were answered.
type answers struct{ n atomic.Int64 }

func (a *answers) DialHook(next goredislib.DialHook) goredislib.DialHook { return next }

func (a *answers) ProcessHook(next goredislib.ProcessHook) goredislib.ProcessHook {
	return func(ctx context.Context, cmd goredislib.Cmder) error {
		err := next(ctx, cmd)
		switch cmd.Name() {
		case "set", "eval", "evalsha":
			a.n.Add(1)
		}
		return err
	}
}

func (a *answers) ProcessPipelineHook(next goredislib.ProcessPipelineHook) goredislib.ProcessPipelineHook {
	return next
}

// patient returns a context that ends when a test waits in vain.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// refusedOnce is how many answers a process has got at least when its second try has begun.
const refusedOnce = 3

// held runs a process at a step until release, and returns when its work has begun.
func held(t *testing.T, process step) (release func() error) {
	t.Helper()
	begun, over := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- process(patient(t), func(ctx context.Context) error {
			close(begun)
			<-over
			return ctx.Err()
		})
	}()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal(err)
	}
	return func() error {
		close(over)
		return <-ended
	}
}

// Processes at step 0 and at step 1 exclude each other, whoever comes first. So do two at step 1.
func TestStepsExcludeEachOther(t *testing.T) {
	t.Parallel()
	for name, library := range old {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServers(t)
			type process struct {
				step     step
				answered *atomic.Int64
			}
			before := func() process {
				clients, answered := s.clients()
				return process{library.before(clients), answered}
			}
			both := func() process {
				clients, answered := s.clients()
				return process{library.both(clients, s.open(), 30*time.Second), answered}
			}
			for _, pair := range [][2]process{{before(), both()}, {both(), before()}, {both(), both()}} {
				release := held(t, pair[0].step)
				var over atomic.Bool
				ended := make(chan error, 1)
				go func() {
					ended <- pair[1].step(patient(t), func(ctx context.Context) error {
						if !over.Load() {
							t.Error("both work at a time")
						}
						return ctx.Err()
					})
				}()
				eventually(t, "the second was refused", func() bool { return pair[1].answered.Load() >= refusedOnce })
				over.Store(true)
				must(t, release())
				must(t, <-ended)
			}
		})
	}
}

// At step 1 the work goes on while the old lock can be renewed, and ends when its key is gone. Then the new lock is free. While it
// is held, step 2 is excluded.
func TestWorkEndsWithTheOldLock(t *testing.T) {
	t.Parallel()
	for name, library := range old {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServers(t)
			other := s.open()
			clients, answered := s.clients()
			process := library.both(clients, s.open(), 4*time.Second)
			begun := make(chan struct{})
			ended := make(chan error, 1)
			go func() {
				ended <- process(patient(t), func(ctx context.Context) error {
					close(begun)
					<-ctx.Done()
					return context.Cause(ctx)
				})
			}()
			select {
			case <-begun:
			case err := <-ended:
				t.Fatal(err)
			}
			if _, err := other.TryLock(t.Context(), "payroll"); !errors.Is(err, redlock.ErrHeld) {
				t.Errorf("a process at step 2 got %v", err)
			}
			first := answered.Load()
			eventually(t, "it is renewed for longer than a lease", func() bool { return answered.Load() >= first+4 })
			select {
			case err := <-ended:
				t.Fatalf("it ended although the old lock was there: %v", err)
			default:
			}
			for _, r := range s.raw {
				must(t, r.Del(t.Context(), "payroll").Err())
			}
			if err := <-ended; !errors.Is(err, errOldLost) {
				t.Errorf("the work ended with %v", err)
			}
			lock, err := other.TryLock(t.Context(), "payroll")
			must(t, err)
			must(t, lock.Unlock(t.Context()))
		})
	}
}

// The old lock that is left taken keeps a forgotten process at step 0 out. It cannot be taken while somebody holds it, and before
// step 1 comes again it is freed.
func TestOldLockIsLeftTaken(t *testing.T) {
	t.Parallel()
	for name, library := range old {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServers(t)
			its := s.raw
			if name == "redislock" {
				its = its[:1]
			}
			moved := func() (replies []bool) {
				for _, r := range its {
					ok, err := r.SetNX(t.Context(), "payroll", "moved", 0).Result()
					must(t, err)
					replies = append(replies, ok)
				}
				return replies
			}
			clients, _ := s.clients()
			release := held(t, library.before(clients))
			for i, ok := range moved() {
				if ok {
					t.Errorf("server %d: taken from its holder", i)
				}
			}
			must(t, release())
			for i, ok := range moved() {
				if !ok {
					t.Errorf("server %d: not taken", i)
				}
			}

			clients, answered := s.clients()
			forgotten := library.before(clients)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = forgotten(ctx, func(context.Context) error {
					t.Error("a process at step 0 works")
					return nil
				})
			}()
			eventually(t, "it was refused", func() bool { return answered.Load() >= refusedOnce })
			cancel()
			<-ended

			for _, r := range its {
				must(t, r.Del(t.Context(), "payroll").Err())
			}
			clients, _ = s.clients()
			must(t, held(t, library.both(clients, s.open(), 30*time.Second))())
		})
	}
}

// With any old lock, the work runs under both, and the old one is given back last.
func TestUnderBoth(t *testing.T) {
	t.Parallel()
	s := startServers(t)
	client := s.open()
	extend := func(context.Context) (time.Time, error) { return time.Now().Add(time.Minute), nil }
	worked, unlocked := false, false
	free := func() bool {
		lock, err := client.TryLock(t.Context(), "payroll")
		if err == nil {
			must(t, lock.Unlock(t.Context()))
		}
		return err == nil
	}
	must(t, bothWithAny(t.Context(), client, time.Now().Add(time.Minute), extend, func() {
		unlocked = true
		if !free() {
			t.Error("the old lock is given back before the new one")
		}
	}, func(ctx context.Context, _ fence.Token) error {
		worked = true
		if unlocked || free() {
			t.Errorf("the work has not both locks: the old one was given back: %t", unlocked)
		}
		return ctx.Err()
	}))
	if !worked || !unlocked {
		t.Errorf("worked: %t, the old lock was given back: %t", worked, unlocked)
	}
}
