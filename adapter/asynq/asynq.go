// Package asynqlock provides locks for github.com/hibiken/asynq: a scheduler that runs in one process of
// many, and a middleware that handles a task under a lock.
//
// asynq requires that only one Scheduler runs at a time, because each further Scheduler would enqueue every task
// again. Schedule runs a Scheduler in the elected process only:
//
//	elector, err := leader.New(client, "asynq-scheduler")
//	...
//	err = asynqlock.Schedule(ctx, elector, func() (*asynq.Scheduler, error) {
//		s := asynq.NewScheduler(queue, nil)
//		_, err := s.Register("@hourly", asynq.NewTask("report", nil))
//		return s, err
//	})
//
// asynq may give a task to a second worker while the first worker, which it takes for dead, still
// works. And tasks of different types may write the same data. Middleware handles the tasks with the
// same lock name one at a time:
//
//	mux := asynq.NewServeMux()
//	mux.Use(asynqlock.Middleware(client, func(t *asynq.Task) string { return t.Type() }, redlock.WithWait(time.Minute)))
//
// The handler's context ends when the lock is lost, and carries the fencing token (fence.FromContext). By default,
// asynq counts each wait that ends without the lock as a failed try of the task, and archives the task after its last
// try. With IsFailure such waits do not count:
//
//	server := asynq.NewServer(queue, asynq.Config{IsFailure: asynqlock.IsFailure})
//
// Two kinds of waits count all the same:
//
//   - The wait of a task that has no retries left, as with asynq.MaxRetry(0): asynq archives the task, and does not
//     call IsFailure.
//   - A wait that the task's deadline ends (asynq.Timeout; by default 30 minutes after the task's start): asynq
//     reports context.DeadlineExceeded, and drops the middleware's error. So give WithWait, with a time that leaves
//     the handler enough of the task's timeout.
//
// # What is not promised
//
// That a process that is paused past its lease does nothing late. A store that compares tokens refuses the late
// writes. The queue compares no tokens, so a scheduler that was paused may enqueue a task a second time: asynq.Unique
// or asynq.TaskID prevent that.
package asynqlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/hibiken/asynq"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/leader"
)

// Schedule campaigns until ctx ends. In each term it starts a scheduler. When the term is over, it shuts the
// scheduler down, and then releases the name, unless the lock was lost. At each call, the function scheduler must
// return a new scheduler that is not started, because asynq does not start a scheduler twice.
//
// Errors: those of leader.Elector.Run; and an error of the function scheduler or of asynq.Scheduler.Start, which ends
// Schedule.
func Schedule(ctx context.Context, elector *leader.Elector, scheduler func() (*asynq.Scheduler, error)) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	var failed error
	ended := elector.Run(ctx, func(term context.Context, _ fence.Token) error {
		s, err := scheduler()
		if err == nil {
			err = s.Start()
		}
		if err != nil {
			failed = err
			end()
			return err
		}
		<-term.Done()
		s.Shutdown()
		return context.Cause(term)
	})
	if failed != nil {
		return failed
	}
	return ended
}

// Middleware returns a middleware that handles each task under a lock, with the options opts. The func name returns
// the name of a task's lock. While another holder has the lock, the worker waits, at most as long as WithWait and the
// task's deadline allow. If the wait ends at WithWait, asynq gets the error of redlock.Client.Do, and tries the task
// again later, if it has retries left. If the wait ends at the deadline, asynq gets context.DeadlineExceeded, as from a
// handler that takes too long. So give WithWait, with less than the task's timeout.
//
// It panics if client or name is nil, or if the client refuses the options: see
// redlock.Client.CheckOptions.
func Middleware(client *redlock.Client, name func(*asynq.Task) string, opts ...redlock.LockOption) asynq.MiddlewareFunc {
	if client == nil || name == nil {
		panic("asynqlock: Middleware needs a client and a function, one of them is nil")
	}
	if err := client.CheckOptions(opts...); err != nil {
		panic(fmt.Sprintf("asynqlock: bad options: %v", err))
	}
	return func(next asynq.Handler) asynq.Handler {
		return asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
			handled := false
			err := client.Do(ctx, name(task), func(ctx context.Context, _ fence.Token) error {
				handled = true
				return next.ProcessTask(ctx, task)
			}, opts...)
			if err != nil && !handled {
				return &notHandled{err}
			}
			return err
		})
	}
}

// notHandled is the error of a task whose handler was not called.
type notHandled struct{ error }

func (e *notHandled) Unwrap() error { return e.error }

// IsFailure is for asynq.Config. It returns false for the error of a task that did not get its lock. asynq then
// does not count the try, and tries the task again after the delay of Config.RetryDelayFunc. For all other errors,
// IsFailure returns true. asynq does not call it for a task that has no retries left.
func IsFailure(err error) bool {
	_, unhandled := errors.AsType[*notHandled](err)
	return !unhandled || !errors.Is(err, redlock.ErrNotAcquired)
}
