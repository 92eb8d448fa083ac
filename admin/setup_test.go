package admin_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// everyWait calls all methods that wait for a lock, each with the options.
func everyWait(c *redlock.Client, ctx context.Context, opts ...redlock.LockOption) map[string]error {
	unlock := func(l interface{ Unlock(context.Context) error }, err error) error {
		if err == nil {
			_ = l.Unlock(context.Background())
		}
		return err
	}
	errs := map[string]error{}
	lock, err := c.Lock(ctx, "name", opts...)
	errs["Lock"] = unlock(lock, err)
	lock, err = c.RLock(ctx, "name", opts...)
	errs["RLock"] = unlock(lock, err)
	lock, err = c.Lock(ctx, "name", append(slices.Clone(opts), redlock.WithSlots(3))...)
	errs["slots"] = unlock(lock, err)
	set, err := c.LockAll(ctx, []string{"a", "b"}, opts...)
	errs["LockAll"] = unlock(set, err)
	errs["Do"] = c.Do(ctx, "name", func(context.Context, fence.Token) error { return nil }, opts...)
	return errs
}

// A call that cannot succeed without a repair fails at once by default. With WithWaitForSetup it waits.
func TestNeedsSetupFailsAtOnce(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		fails := func(what string, c *redlock.Client, want ...error) {
			t.Helper()
			start := time.Now()
			for call, err := range everyWait(c, context.Background()) {
				if errors.Is(err, context.DeadlineExceeded) || err == nil {
					t.Errorf("%s: %s: %v", what, call, err)
				}
				harness.RequireErr(t, err, append(want, redlock.ErrNotAcquired, redlock.ErrNoQuorum, redlock.ErrNeedsSetup)...)
			}
			if took := time.Since(start); took > 5*limits.DefaultRequestTimeout {
				t.Errorf("%s: failing at once took %v", what, took)
			}
			for call, err := range everyWait(c, context.Background(), redlock.WithWaitForSetup(), redlock.WithWait(2*time.Second)) {
				harness.RequireErr(t, err, append(want, redlock.ErrNotAcquired, context.DeadlineExceeded)...)
				if errors.Is(err, redlock.ErrNeedsSetup) {
					t.Errorf("%s: with the option %s fails with %v", what, call, err)
				}
			}
		}
		fails("nothing is founded", d.Stranger(), redlock.ErrNeedsInit)
		var tries harness.Recorder
		early := harness.GoLock(t, d.Stranger(redlock.WithWaitForSetup(), redlock.WithObserver(redlock.Observer{
			AttemptFailed: func(context.Context, redlock.FailedAttempt) { tries.Note("try") },
		})), "early")
		time.Sleep(time.Minute)
		if n, most := tries.Count(""), int(2*time.Minute/waitqueue.MaxPause); n < 60 || n > most {
			t.Errorf("%d tries in a minute, want at most %d", n, most)
		}
		harness.Must(t, admin.Init(context.Background(), d.Stranger(), 0))
		harness.Must(t, harness.Have(t, early).Unlock(context.Background()))
		for call, err := range everyWait(d.Stranger(), context.Background()) {
			if err != nil {
				t.Errorf("%s: %v", call, err)
			}
		}

		few := &harness.Deployment{T: t, Virtual: true, Epoch: d.Epoch, Masters: d.Masters[:1]}
		fails("one of three members", few.Stranger())
	})
}
