// Package gocronlock provides a gocron.Locker and a gocron.Elector, for schedulers of
// github.com/go-co-op/gocron/v2 that run the same jobs in several processes.
//
// With a Locker each run of a job acquires the lock of the job's name, and is skipped if another scheduler holds it.
// Use WithHoldAtLeast, because the schedulers' clocks and tickers differ: without it, a job that ends before the
// slowest scheduler starts it would run more than once.
//
//	locker := gocronlock.NewLocker(client, redlock.WithHoldAtLeast(10*time.Second))
//	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
//	...
//	_, err = s.NewJob(gocron.DurationJob(time.Minute),
//		gocron.NewTask(locker.Job("report", func(ctx context.Context, token fence.Token) error {
//			return report(ctx, token) // ctx ends with the lock; the store compares the token
//		})), gocron.WithName("report"))
//
// With an Elector, only the scheduler of the process that leads runs the jobs.
//
//	elector, err := gocronlock.NewElector(client, "scheduler")
//	...
//	go elector.Run(ctx)
//	s, err := gocron.NewScheduler(gocron.WithDistributedElector(elector))
//	_, err = s.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(elector.Job(report)))
//
// gocron gives a job no access to the lock, so make the job's function with the method Job: your function then gets a
// context that ends when the lock or the term is lost, and the fencing token. A job that was made without this method
// runs on when the lock is lost.
//
// # What is not promised
//
// That each run takes place exactly once: runs are skipped while no quorum of masters can be
// reached, and a paused process may act while another already runs the job. A store that compares
// tokens refuses the writes of the paused process.
//
// # Goroutines
//
// The package starts no goroutine itself; Elector.Run starts the goroutines of leader.Elector.
package gocronlock
