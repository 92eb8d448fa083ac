package acquire_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/script"
)

// A call that waits returns why it ended, once, and the error of its last attempt that had a result. It does so when it
// ends just after this attempt, and when it ends during the next attempt.
func TestEndedCallReturnsLastResult(t *testing.T) {
	t.Parallel()
	stop := errors.New("the user pressed stop")
	for call, lock := range map[string]func(context.Context, *redlock.Client) error{
		"a name": func(ctx context.Context, c *redlock.Client) error { return harness.ErrOf(c.Lock(ctx, "job")) },
		"a set": func(ctx context.Context, c *redlock.Client) error {
			return harness.ErrOf(c.LockAll(ctx, []string{"free", "job"}))
		},
		"slots": func(ctx context.Context, c *redlock.Client) error {
			return harness.ErrOf(c.Lock(ctx, "jobs", redlock.WithSlots(2)))
		},
	} {
		for _, x := range []struct {
			claim        string
			closes, next bool
			want         []error
		}{
			{"its context ends after an attempt", false, false, []error{context.Canceled, stop}},
			{"its context ends during the next attempt", false, true, []error{context.Canceled, stop}},
			{"Close begins after an attempt", true, false, []error{redlock.ErrClosed}},
			{"Close begins during the next attempt", true, true, []error{redlock.ErrClosed}},
		} {
			harness.RunInVirtualTime(t, call+", "+x.claim, 3, func(t *testing.T, d *harness.Deployment) {
				holder := d.Reached()
				harness.MustTry(t, holder, "job")
				for range 2 {
					harness.MustTry(t, holder, "jobs", redlock.WithSlots(2))
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				var c *redlock.Client
				closed := make(chan error, 1)
				end := func() {
					if x.closes {
						go func() { closed <- c.Close() }()
						return
					}
					closed <- nil
					cancel(stop)
				}
				var refused atomic.Bool
				c = d.Reached(redlock.WithObserver(redlock.Observer{AttemptFailed: func(context.Context, redlock.FailedAttempt) {
					switch {
					case refused.Swap(true):
					case !x.next:
						end()
						time.Sleep(time.Millisecond) // until Close has begun
					default:
						harness.All(d.Masters, harness.Master.Freeze)
						time.AfterFunc(50*time.Millisecond, func() { callFor(c, "job") }) // a waiter asks again
						time.AfterFunc(200*time.Millisecond, end)
					}
				}}))
				start := time.Now()
				err := lock(ctx, c)
				harness.RequireErr(t, err, append(x.want, redlock.ErrNotAcquired, redlock.ErrHeld)...)
				if text := err.Error(); strings.Count(text, x.want[0].Error()) > 1 || strings.Count(text, "not acquired") > 1 {
					t.Errorf("%q has repeats", text)
				}
				if took := time.Since(start); took > 210*time.Millisecond {
					t.Errorf("it returned after %v", took)
				}
				harness.All(d.Masters, harness.Master.Thaw)
				harness.Must(t, <-closed)
			})
		}
	}
}

// callFor makes c handle calls for a name from two masters.
func callFor(c *redlock.Client, name string) {
	for i := range 2 {
		inside(c).Called(i, script.KeysOf(limits.DefaultPrefix, name, "").Lock)
	}
}

// The members are unknown. A call ends while it asks for them again.
func TestEndedCallReturnsUnknownMembers(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		d.Client() // founds the deployment
		harness.All(d.Masters, harness.Master.Freeze)
		c := d.Stranger(redlock.WithRequestTimeout(time.Second))
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		harness.RequireErr(t, harness.ErrOf(c.Lock(ctx, "job")), context.DeadlineExceeded, redlock.ErrNotAcquired, redlock.ErrNoQuorum)
		harness.All(d.Masters, harness.Master.Thaw)
	})
}

// A caller's error has the holder that the client has found, even if the call ends during or just after an attempt.
func TestEndedCallReturnsHolder(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim   string
		decided bool
	}{{"the masters have decided", true}, {"the masters are silent", false}} {
		harness.RunInVirtualTime(t, x.claim, 3, func(t *testing.T, d *harness.Deployment) {
			harness.MustTry(t, d.Reached(), "job")
			ctx, cancel := context.WithCancel(t.Context())
			var called atomic.Bool
			c := d.Reached(redlock.WithObserver(redlock.Observer{AttemptFailed: func(context.Context, redlock.FailedAttempt) {
				if called.Load() {
					cancel()
				}
			}}))
			time.AfterFunc(time.Second, func() { // the client has found the holder, and the waiter is asleep
				called.Store(true)
				if !x.decided {
					harness.All(d.Masters, harness.Master.Freeze)
					time.AfterFunc(200*time.Millisecond, cancel)
				}
				callFor(c, "job")
			})
			err := harness.ErrOf(c.Lock(ctx, "job"))
			harness.RequireErr(t, err, context.Canceled, redlock.ErrHeld)
			harness.RequireText(t, err, fmt.Sprintf("process %d on ", os.Getpid()))
			harness.All(d.Masters, harness.Master.Thaw)
		})
	}
}

// WithWait bounds the whole wait for one of several slots. Only the attempt that is under way goes on.
func TestSlotsWaitIsBounded(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim             string
		slots             int
		each, wait, until time.Duration // each: how long an attempt takes
	}{
		{"it ends during the first attempts", 8, 300 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond},
		{"it ends while the call is in line", 2, 60 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond},
	} {
		harness.RunInVirtualTime(t, x.claim, 3, func(t *testing.T, d *harness.Deployment) {
			holder := d.Reached()
			for range x.slots {
				harness.MustTry(t, holder, "jobs", redlock.WithSlots(x.slots))
			}
			var refused atomic.Int64
			c := d.Reached(redlock.WithObserver(redlock.Observer{AttemptFailed: func(context.Context, redlock.FailedAttempt) {
				if refused.Add(1) < int64(x.slots) {
					harness.All(d.Masters, harness.Master.Freeze)
					time.AfterFunc(x.each, func() { harness.All(d.Masters, harness.Master.Thaw) })
				}
			}}))
			start := time.Now()
			err := harness.ErrOf(c.Lock(t.Context(), "jobs", redlock.WithSlots(x.slots), redlock.WithWait(x.wait)))
			if took := time.Since(start); took != x.until {
				t.Errorf("it returned after %v, want %v", took, x.until)
			}
			harness.RequireErr(t, err, context.DeadlineExceeded, redlock.ErrHeld)
			harness.RequireText(t, err, fmt.Sprint("redlock: not acquired within ", x.wait, ": held by another"))
		})
	}
}
