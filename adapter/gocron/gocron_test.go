package gocronlock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"

	"github.com/redlock-go/redlock"
	gocronlock "github.com/redlock-go/redlock/adapter/gocron"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/leader"
)

// runs records the jobs' runs.
type runs struct {
	mu     sync.Mutex
	by     []string
	tokens []fence.Token
	at     []time.Time
}

func (r *runs) note(who string, token fence.Token) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.by, r.tokens, r.at = append(r.by, who), append(r.tokens, token), append(r.at, time.Now())
}

// scheduler returns a running scheduler with a job each minute.
func scheduler(t *testing.T, name string, job any, opts ...gocron.SchedulerOption) gocron.Scheduler {
	t.Helper()
	s, err := gocron.NewScheduler(opts...)
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, s.Shutdown()) })
	_, err = s.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(job), gocron.WithName(name))
	harness.Must(t, err)
	s.Start()
	return s
}

// The schedulers began at different times, so the job of one scheduler is due when the other scheduler's job is over.
func TestJobRunsInOneScheduler(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var did runs
		for _, who := range []string{"a", "b"} {
			locker := gocronlock.NewLocker(d.Client(), redlock.WithHoldAtLeast(10*time.Second))
			scheduler(t, "report", locker.Job("report", func(ctx context.Context, token fence.Token) error {
				if carried, _ := fence.FromContext(ctx); carried != token {
					t.Errorf("the context carries %v, the token is %v", carried, token)
				}
				did.note(who, token)
				return nil
			}), gocron.WithDistributedLocker(locker))
			time.Sleep(3 * time.Second)
		}
		time.Sleep(10*time.Minute + 30*time.Second)
		did.mu.Lock()
		defer did.mu.Unlock()
		if len(did.by) != 10 || !slices.IsSorted(did.tokens) || len(slices.Compact(slices.Clone(did.tokens))) != 10 {
			t.Errorf("in 10 minutes it was run by %v, with tokens %v", did.by, did.tokens)
		}
	})
}

func TestJobWithOtherNameFails(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		locker := gocronlock.NewLocker(d.Client())
		failed := make(chan error, 1)
		s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
		harness.Must(t, err)
		_, err = s.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(locker.Job("report", func(context.Context, fence.Token) error {
			t.Error("it ran")
			return nil
		})), gocron.WithName("repot"), gocron.WithEventListeners(gocron.AfterJobRunsWithError(func(_ uuid.UUID, _ string, err error) { failed <- err })))
		harness.Must(t, err)
		s.Start()
		if err := <-failed; !strings.Contains(err.Error(), `job "report" is not held`) {
			t.Error(err)
		}
		harness.Must(t, s.Shutdown())
	})
}

func TestBadOptions(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		for text, opt := range map[string]redlock.LockOption{"invalid slots 2: ": redlock.WithSlots(2), "invalid ttl 1h0m0s: ": redlock.WithTTL(time.Hour)} {
			func() {
				defer func() {
					if got, _ := recover().(string); !strings.Contains(got, text) {
						t.Errorf("panic %q, want %q in it", got, text)
					}
				}()
				gocronlock.NewLocker(d.Client(), opt)
			}()
			if _, err := gocronlock.NewElector(d.Client(), "scheduler", leader.WithLock(opt)); !errors.Is(err, redlock.ErrBadOption) || !strings.Contains(err.Error(), text) {
				t.Errorf("%v, want %q in it", err, text)
			}
		}
	})
}

func TestOnlyLeaderSchedules(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var did runs
		var running sync.WaitGroup
		ends := map[string]context.CancelFunc{}
		for _, who := range []string{"a", "b"} {
			elector, err := gocronlock.NewElector(d.Client(), "scheduler", leader.WithLock(redlock.WithTTL(5*time.Second)))
			harness.Must(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			ends[who] = cancel
			running.Go(func() { _ = elector.Run(ctx) })
			time.Sleep(time.Second) // the first one leads
			scheduler(t, "report", elector.Job(func(_ context.Context, token fence.Token) error {
				did.note(who, token)
				return nil
			}), gocron.WithDistributedElector(elector))
		}
		time.Sleep(3*time.Minute + 30*time.Second)
		ends["a"]()
		time.Sleep(3 * time.Minute)
		ends["b"]()
		running.Wait()
		did.mu.Lock()
		defer did.mu.Unlock()
		if got := strings.Join(did.by, ""); got != "aaabbb" || did.tokens[0] != did.tokens[2] || did.tokens[3] <= did.tokens[2] {
			t.Errorf("run by %s, with tokens %v", got, did.tokens)
		}
	})
}

// The end of a term ends the contexts of running jobs. The name is kept until the jobs have returned.
func TestTermWaitsForJobs(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		elector, err := gocronlock.NewElector(d.Client(), "scheduler")
		harness.Must(t, err)
		if err := elector.IsLeader(t.Context()); !errors.Is(err, leader.ErrNotLeading) {
			t.Error(err)
		}
		if err := elector.Job(nil)(t.Context()); !errors.Is(err, leader.ErrNotLeading) {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- elector.Run(ctx) }()
		time.Sleep(time.Second)
		harness.Must(t, elector.IsLeader(t.Context()))
		d.Slept.Add(int64(time.Minute))
		if err := elector.IsLeader(t.Context()); !errors.Is(err, leader.ErrNotLeading) {
			t.Errorf("after a suspend: %v", err)
		}
		time.Sleep(time.Minute)
		harness.Must(t, elector.IsLeader(t.Context()))
		ctxErr, end, done := make(chan error, 1), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			_ = elector.Job(func(ctx context.Context, _ fence.Token) error {
				<-ctx.Done()
				ctxErr <- ctx.Err()
				<-end
				return nil
			})(context.Background())
		}()
		time.Sleep(time.Second)
		cancel()
		<-ctxErr
		time.Sleep(time.Minute)
		other := d.Client()
		if _, err := other.TryLock(t.Context(), "scheduler"); !errors.Is(err, redlock.ErrHeld) {
			t.Errorf("while a job of the term runs: %v", err)
		}
		close(end)
		<-done
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		lock, err := other.TryLock(t.Context(), "scheduler")
		harness.Must(t, err)
		harness.Must(t, lock.Unlock(t.Context()))
	})
}

// gocron cancels the context of a job that is removed or whose scheduler stops.
func TestJobEndCancelsTask(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		locker := gocronlock.NewLocker(d.Client())
		began, ctxErr := make(chan struct{}), make(chan error, 1)
		s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
		harness.Must(t, err)
		_, err = s.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(locker.Job("report", func(ctx context.Context, _ fence.Token) error {
			close(began)
			<-ctx.Done()
			ctxErr <- ctx.Err()
			return nil
		})), gocron.WithName("report"))
		harness.Must(t, err)
		s.Start()
		<-began
		harness.Must(t, s.Shutdown())
		if err := <-ctxErr; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
