package cronlock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/redlock-go/redlock"
	cronlock "github.com/redlock-go/redlock/adapter/cron"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
)

// recorder is a cron.Logger that keeps its messages.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (l *recorder) Info(what string, facts ...any) { l.note("info %s %v", what, facts) }

func (l *recorder) Error(err error, what string, facts ...any) {
	l.note("error %v: %s %v", err, what, facts)
}

func (l *recorder) note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprintf(format, args...))
}

func (l *recorder) only(t *testing.T, n int, begins string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lines) != n || slices.ContainsFunc(l.lines, func(line string) bool { return !strings.HasPrefix(line, begins) }) {
		t.Errorf("want %d times %q, got %q", n, begins, l.lines)
	}
}

// The processes' clocks differ by 3 s, so the job of one process is due when the other process's job is over.
func TestJobRunsInOneProcess(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var mu sync.Mutex
		var tokens []fence.Token
		var logger recorder
		for range 2 {
			jobs := cron.New(cron.WithSeconds())
			_, err := jobs.AddJob("@every 1m", cronlock.Job(context.Background(), d.Client(), "report", &logger, func(ctx context.Context, token fence.Token) error {
				mu.Lock()
				defer mu.Unlock()
				if carried, _ := fence.FromContext(ctx); carried != token {
					t.Errorf("the context carries %v, the token is %v", carried, token)
				}
				tokens = append(tokens, token)
				return nil
			}, redlock.WithHoldAtLeast(10*time.Second)))
			if err != nil {
				t.Fatal(err)
			}
			jobs.Start()
			t.Cleanup(func() { <-jobs.Stop().Done() })
			time.Sleep(3 * time.Second)
		}
		time.Sleep(10*time.Minute + 30*time.Second)
		mu.Lock()
		defer mu.Unlock()
		if len(tokens) != 10 || !slices.IsSorted(tokens) || len(slices.Compact(slices.Clone(tokens))) != 10 {
			t.Errorf("in 10 minutes it ran with tokens %v", tokens)
		}
		logger.only(t, 10, "info skip [lock report why redlock: held")
	})
}

func TestBadOptions(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		defer func() {
			if got, _ := recover().(string); !strings.Contains(got, "invalid ttl 1h0m0s: ") {
				t.Errorf("panic %q", got)
			}
		}()
		cronlock.Job(t.Context(), d.Client(), "report", cron.DiscardLogger, func(context.Context, fence.Token) error { return nil }, redlock.WithTTL(time.Hour))
	})
}

func TestJobErrorIsLogged(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		client := d.Client()
		var logger recorder
		cronlock.Job(context.Background(), client, "report", &logger, func(context.Context, fence.Token) error {
			return errors.New("no paper")
		}).Run()
		logger.only(t, 1, "error no paper: run [lock report ran true]")

		logger.lines = nil
		over, cancel := context.WithCancel(context.Background())
		cancel()
		cronlock.Job(over, client, "report", &logger, func(context.Context, fence.Token) error {
			t.Error("it ran")
			return nil
		}).Run()
		logger.only(t, 1, "error ")

		logger.lines = nil
		job := cronlock.Job(context.Background(), client, "report", &logger, func(context.Context, fence.Token) error { panic("jam") })
		cron.NewChain(cron.Recover(&logger)).Then(job).Run()
		logger.only(t, 1, "error jam: panic")
		lock, err := client.TryLock(context.Background(), "report")
		if err != nil {
			t.Fatal(err)
		}
		_ = lock.Unlock(context.Background())
	})
}
