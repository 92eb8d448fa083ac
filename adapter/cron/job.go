// Package cronlock provides jobs for github.com/robfig/cron/v3 that run in only one of the processes that
// have scheduled them.
//
//	jobs := cron.New()
//	_, err := jobs.AddJob("@hourly", cronlock.Job(ctx, client, "report", logger,
//		func(ctx context.Context, token fence.Token) error {
//			return report(ctx, token) // ctx ends with the lock; the store compares the token
//		}, redlock.WithHoldAtLeast(10*time.Second)))
//
// Each run acquires the lock of the job's name. If another process holds the lock, the run is skipped. Use
// WithHoldAtLeast, because the processes' clocks differ: without it, a job that ends before the slowest clock reaches
// the scheduled time would run more than once.
//
// # What is not promised
//
// That each run takes place exactly once: runs are skipped while no quorum of masters can be reached, and a paused
// process may act while another already runs the job. A store that compares tokens refuses the writes of the paused
// process.
package cronlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/robfig/cron/v3"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
)

// Job returns a job that runs work under the lock of this name. The job skips the run if the lock is taken: it does not
// wait for the lock, so WithWait has no effect.
//
// The context of work is derived from ctx, and carries the token. It ends when the lock is lost, with the cause that
// redlock.Lock.Context has then.
//
// A cron.Job returns nothing, so the job reports to logger. It calls logger.Info for a run that was skipped because
// the lock is held. It calls logger.Error if the lock was not acquired, was lost, or may not be free, and if work
// failed. After a panic of work, the job releases the lock and lets the panic go on; see cron.Recover.
//
// Job panics if ctx, client, logger or work is nil, or if the client refuses the options: see
// redlock.Client.CheckOptions.
func Job(ctx context.Context, client *redlock.Client, name string, logger cron.Logger, work func(ctx context.Context, token fence.Token) error, opts ...redlock.LockOption) cron.Job {
	if ctx == nil || client == nil || logger == nil || work == nil {
		panic("cronlock: Job needs a context, a client, a logger and a function, one of them is nil")
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
