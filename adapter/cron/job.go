// Package cronlock has jobs for github.com/robfig/cron/v3 that run in one process of all those that
// have scheduled them.
//
//	jobs := cron.New()
//	_, err := jobs.AddJob("@hourly", cronlock.Job(ctx, client, "report", logger,
//		func(ctx context.Context, token fence.Token) error {
//			return report(ctx, token) // ctx ends with the lock; the store compares the token
//		}, redlock.WithHoldAtLeast(10*time.Second)))
//
// Each run takes the lock of the job's name. Where another process has it, the run is skipped. Give
// WithHoldAtLeast: the processes' clocks differ, and a job that is shorter than the difference
// would else be run by each of them.
//
// # What is not promised
//
// That each run takes place once: none does while no quorum of masters can be reached, and a
// process that is paused may act when another runs the job already. A store that compares tokens
// refuses it then.
package cronlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/robfig/cron/v3"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// Job returns a job that runs work under the lock of this name, if nobody has it. It does not wait
// for the lock, so WithWait has no effect.
//
// The context of work is derived from ctx and ends when the lock is lost; context.Cause tells as
// for redlock.Lock.Context. It carries the token too.
//
// What a cron.Job cannot return goes to logger: that a run was skipped because another has the
// lock, as Info; why the lock was not had or was lost, and work's errors, as Error. A panic of work
// releases the lock and goes on; see cron.Recover.
//
// Job panics if client, logger or work is nil, or if the client refuses the options: see
// redlock.Client.CheckOptions.
func Job(ctx context.Context, client *redlock.Client, name string, logger cron.Logger, work func(ctx context.Context, token fence.Token) error, opts ...redlock.LockOption) cron.Job {
	if client == nil || logger == nil || work == nil {
		panic("cronlock: Job needs a client, a logger and a function, one of them is nil")
	}
	if err := client.CheckOptions(opts...); err != nil {
		panic(fmt.Sprintf("cronlock: bad options: %v", err))
	}
	opts = append(opts[:len(opts):len(opts)], redlock.WithWait(0))
	return cron.FuncJob(func() {
		ran := false
		err := client.Do(ctx, name, func(ctx context.Context, token fence.Token) error {
			ran = true
			return work(ctx, token)
		}, opts...)
		switch {
		case err == nil:
		case !ran && errors.Is(err, redlock.ErrHeld):
			logger.Info("skip", "lock", name, "why", err)
		default:
			logger.Error(err, "run", "lock", name, "ran", ran)
		}
	})
}
