package asynqlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"

	"github.com/redlock-go/redlock"
	asynqlock "github.com/redlock-go/redlock/adapter/asynq"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/leader"
)

type candidate struct {
	enqueued chan struct{} // gets an element for each task that the scheduler enqueues
	stop     func() error
}

func schedule(t *testing.T, d *harness.Deployment, queue asynq.RedisClientOpt) candidate {
	t.Helper()
	elector, err := leader.New(d.Client(), "scheduler")
	harness.Must(t, err)
	c := candidate{enqueued: make(chan struct{}, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	c.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = c.stop() })
	go func() {
		ended <- asynqlock.Schedule(ctx, elector, func() (*asynq.Scheduler, error) {
			s := asynq.NewScheduler(queue, &asynq.SchedulerOpts{LogLevel: asynq.FatalLevel, PreEnqueueFunc: func(*asynq.Task, []asynq.Option) { c.enqueued <- struct{}{} }})
			_, err := s.Register("@every 1s", asynq.NewTask("report", nil))
			return s, err
		})
	}()
	return c
}

func TestSchedulerRunsInOneProcess(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	queue := asynq.RedisClientOpt{Addr: d.Server(0).Addr(), DB: 1}
	one := schedule(t, d, queue)
	<-one.enqueued
	other := schedule(t, d, queue)
	for range 2 {
		<-one.enqueued
	}
	if n := len(other.enqueued); n > 0 {
		t.Errorf("who does not lead enqueued %d times", n)
	}
	if err := one.stop(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for len(one.enqueued) > 0 {
		<-one.enqueued
	}
	<-other.enqueued
	if n := len(one.enqueued); n > 0 {
		t.Errorf("who stopped enqueued %d times more", n)
	}
}

func TestScheduleReturnsSchedulerError(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		elector, err := leader.New(d.Client(), "scheduler")
		harness.Must(t, err)
		bad := errors.New("bad cron spec")
		if err := asynqlock.Schedule(t.Context(), elector, func() (*asynq.Scheduler, error) { return nil, bad }); err != bad {
			t.Error(err)
		}
		lock, err := d.Client().TryLock(t.Context(), "scheduler")
		harness.Must(t, err)
		harness.Must(t, lock.Unlock(t.Context()))
	})
}

func TestBadOptions(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		defer func() {
			if got, _ := recover().(string); !strings.Contains(got, "invalid ttl 1h0m0s: ") {
				t.Errorf("panic %q", got)
			}
		}()
		asynqlock.Middleware(d.Client(), func(task *asynq.Task) string { return task.Type() }, redlock.WithTTL(time.Hour))
	})
}

func TestTasksOfOneNameAreSerialized(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var handled sync.WaitGroup
		var mu sync.Mutex
		var last fence.Token
		at := 0
		name := func(task *asynq.Task) string { return "account " + string(task.Payload()) }
		for i := range 4 {
			mux := asynq.NewServeMux()
			mux.Use(asynqlock.Middleware(d.Client(), name))
			mux.HandleFunc("pay", func(ctx context.Context, _ *asynq.Task) error {
				token, carried := fence.FromContext(ctx)
				mu.Lock()
				if at++; at > 1 || !carried || token <= last {
					t.Errorf("%d at a time, token %v after %v", at, token, last)
				}
				last = token
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				at--
				mu.Unlock()
				return fmt.Errorf("task %d: %w", i, asynq.SkipRetry)
			})
			handled.Go(func() {
				if err := mux.ProcessTask(t.Context(), asynq.NewTask("pay", []byte("7"))); !errors.Is(err, asynq.SkipRetry) {
					t.Error(err)
				}
			})
		}
		handled.Wait()
	})
}

func TestTaskWaitIsBounded(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		lock, err := d.Client().TryLock(t.Context(), "report")
		harness.Must(t, err)
		handler := asynqlock.Middleware(d.Client(), (*asynq.Task).Type, redlock.WithWait(time.Second))(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
			t.Error("it was handled")
			return nil
		}))
		err = handler.ProcessTask(t.Context(), asynq.NewTask("report", nil))
		if !errors.Is(err, redlock.ErrHeld) || asynqlock.IsFailure(err) {
			t.Errorf("the task did not get its lock: %v, a failure: %v", err, asynqlock.IsFailure(err))
		}
		handler = asynqlock.Middleware(d.Client(), func(*asynq.Task) string { return "other" })(asynq.HandlerFunc(func(context.Context, *asynq.Task) error {
			return fmt.Errorf("in the handler: %w", redlock.ErrNotAcquired)
		}))
		if err := handler.ProcessTask(t.Context(), asynq.NewTask("report", nil)); !asynqlock.IsFailure(err) {
			t.Errorf("the handler failed: %v, which is no failure", err)
		}
		harness.Must(t, lock.Unlock(t.Context()))
	})
}

// A task with a single retry is tried again for as long as another holder has its lock.
func TestWaitTimeoutIsNotFailure(t *testing.T) {
	t.Parallel()
	d := harness.Processes(t, 3, redisproc.Config{})
	lock, err := d.Client().TryLock(t.Context(), "report")
	harness.Must(t, err)
	refused, handled := make(chan error, 100), make(chan struct{})
	queue := asynq.RedisClientOpt{Addr: d.Server(0).Addr(), DB: 1}
	server := asynq.NewServer(queue, asynq.Config{
		IsFailure:                asynqlock.IsFailure,
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return 0 },
		DelayedTaskCheckInterval: 50 * time.Millisecond,
		ErrorHandler:             asynq.ErrorHandlerFunc(func(_ context.Context, _ *asynq.Task, err error) { refused <- err }),
		LogLevel:                 asynq.FatalLevel,
	})
	mux := asynq.NewServeMux()
	mux.Use(asynqlock.Middleware(d.Client(), (*asynq.Task).Type, redlock.WithWait(0)))
	mux.HandleFunc("report", func(context.Context, *asynq.Task) error { close(handled); return nil })
	harness.Must(t, server.Start(mux))
	t.Cleanup(server.Shutdown)
	queued := asynq.NewClient(queue)
	t.Cleanup(func() { harness.Must(t, queued.Close()) })
	_, err = queued.Enqueue(asynq.NewTask("report", nil, asynq.MaxRetry(1)))
	harness.Must(t, err)
	timeout := time.After(time.Minute)
	for range 3 {
		select {
		case err := <-refused:
			if !errors.Is(err, redlock.ErrHeld) {
				t.Errorf("it was refused with %v", err)
			}
		case <-timeout:
			t.Fatal("the task is not tried any more")
		}
	}
	harness.Must(t, lock.Unlock(t.Context()))
	select {
	case <-handled:
	case <-timeout:
		t.Fatal("the task is not handled")
	}
}
