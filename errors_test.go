package redlock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/limits"
	"github.com/redlock-go/redlock/internal/master"
)

// A caller whose context ends before the masters have decided finds the context's cause, and not ErrNoQuorum, in its
// error, in events and in logs.
func TestCanceledCallIsNotErrNoQuorum(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var log strings.Builder
		var attempts []error
		watch := redlock.Observers(redlock.LogObserver(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))), redlock.Observer{
			AttemptFailed: func(_ context.Context, a redlock.FailedAttempt) { attempts = append(attempts, a.Err) },
		})
		c := d.Reached(redlock.WithObserver(redlock.Observer{}))
		held, read := harness.MustTry(t, c, "held"), harness.MustTry(t, c, "read")
		c.Watch(watch)
		for _, x := range []struct {
			call     string
			do       func(ctx context.Context) error
			acquires bool
		}{
			{"TryLock", func(ctx context.Context) error { return harness.ErrOf(c.TryLock(ctx, "job")) }, true},
			{"Lock", func(ctx context.Context) error { return harness.ErrOf(c.Lock(ctx, "job")) }, true},
			{"RLock", func(ctx context.Context) error { return harness.ErrOf(c.RLock(ctx, "job")) }, true},
			{"slots", func(ctx context.Context) error { return harness.ErrOf(c.Lock(ctx, "job", redlock.WithSlots(2))) }, true},
			{"LockAll", func(ctx context.Context) error { return harness.ErrOf(c.LockAll(ctx, []string{"a", "b"})) }, true},
			{"TryLockAll", func(ctx context.Context) error { return harness.ErrOf(c.TryLockAll(ctx, []string{"a", "b"})) }, true},
			{"re-entry", func(ctx context.Context) error {
				return harness.ErrOf(c.TryLock(harness.Hold(held).NewContext(ctx), "held"))
			}, true},
			{"unknown", func(ctx context.Context) error {
				return harness.ErrOf(d.Stranger(redlock.WithObserver(watch)).Lock(ctx, "job"))
			}, true},
			{"Extend", func(ctx context.Context) error { return held.Extend(ctx, limits.DefaultTTL) }, false},
			{"Downgrade", func(ctx context.Context) error { return read.Downgrade(ctx) }, false},
			{"Verify", func(ctx context.Context) error { return harness.ErrOf(c.Verify(ctx, "held", held.Token())) }, false},
			{"verify, unknown", func(ctx context.Context) error { return harness.ErrOf(d.Stranger().Verify(ctx, "held", held.Token())) }, false},
			{"Ready", func(ctx context.Context) error { return c.Ready(ctx) }, false},
			{"ForceUnlock", func(ctx context.Context) error {
				return harness.ErrOf(harness.Inside(c).ForceUnlock(ctx, "held", harness.Shown(held)))
			}, false},
			{"Inspect", func(ctx context.Context) error { return harness.ErrOf(admin.Inspect(ctx, c, "held")) }, false},
			{"inspect, unknown", func(ctx context.Context) error { return harness.ErrOf(admin.Inspect(ctx, d.Stranger(), "held")) }, false},
			{"Members", func(ctx context.Context) error { return harness.ErrOf(admin.Members(ctx, c)) }, false},
			{"members, unknown", func(ctx context.Context) error { return harness.ErrOf(admin.Members(ctx, d.Stranger())) }, false},
			{"Names", func(ctx context.Context) error { return harness.ErrOf(admin.Names(ctx, d.Stranger(), 1)) }, false},
			{"Init", func(ctx context.Context) error { return admin.Init(ctx, d.Stranger(), 0) }, false},
			{"PlanInit", func(ctx context.Context) error { return harness.ErrOf(admin.PlanInit(ctx, d.Stranger(), 0)) }, false},
			{"ChangeMembers", func(ctx context.Context) error {
				return admin.ChangeMembers(ctx, c, admin.SuspendMember(d.Address(1)), nil)
			}, false},
			{"change, unknown", func(ctx context.Context) error {
				return admin.ChangeMembers(ctx, d.Stranger(), admin.AddMember("a"), nil)
			}, false},
		} {
			synctest.Wait()
			call := x.call
			log.Reset()
			attempts = nil
			harness.All(d.Masters[1:], harness.Master.Freeze)
			stop := errors.New("the user pressed stop")
			ctx, cancel := context.WithCancelCause(context.Background())
			time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
			start := time.Now()
			err := x.do(ctx)
			harness.RequireErr(t, err, context.Canceled, stop)
			if errors.Is(err, redlock.ErrNoQuorum) || errors.Is(err, redlock.ErrHeld) || errors.Is(err, redlock.ErrNotAcquired) != x.acquires && call != "ForceUnlock" || strings.Contains(err.Error(), "no quorum") {
				t.Errorf("%s: %v", call, err)
			}
			if took := time.Since(start); took != 100*time.Millisecond {
				t.Errorf("%s took %v", call, took)
			}
			if strings.Contains(log.String(), "WARN") || strings.Contains(log.String(), "INFO") || x.acquires != strings.Contains(log.String(), "not locked") {
				t.Errorf("%s is logged as %s", call, log.String())
			}
			if x.acquires && len(attempts) == 0 && call != "re-entry" {
				t.Errorf("%s: no attempt is reported", call)
			}
			for _, err := range attempts {
				if !errors.Is(err, context.Canceled) || errors.Is(err, redlock.ErrNoQuorum) || !errors.Is(err, redlock.ErrNotAcquired) {
					t.Errorf("%s: reported %v", call, err)
				}
			}
			harness.All(d.Masters[1:], harness.Master.Thaw)
			time.Sleep(time.Second)
		}
	})
}

// An error is one line and repeats nothing. It mentions a context only if the context has ended.
func TestErrorTextHasNoRepeats(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		lost := func(name string) error {
			return c.Do(context.Background(), name, func(ctx context.Context, _ fence.Token) error {
				d.Drop(c, name, 0, 1, 2)
				<-ctx.Done()
				return fmt.Errorf("work stopped: %w", context.Cause(ctx))
			})
		}
		held := harness.MustTry(t, d.Reached(), "held", redlock.WithTTL(10*time.Second))
		defer held.Unlock(context.Background())
		_, waited := c.Lock(context.Background(), "held", redlock.WithWait(1500*time.Millisecond))
		_, waitedAll := c.LockAll(context.Background(), []string{"free", "held"}, redlock.WithWait(20*time.Second))
		stopped, stop := context.WithCancelCause(context.Background())
		stop(errors.New("the user pressed stop"))
		_, left := c.Lock(stopped, "job")
		few := &harness.Deployment{T: t, Virtual: true, Epoch: d.Epoch, Masters: d.Masters[:1]}
		_, short := few.Stranger().TryLock(context.Background(), "job")
		_, bad := redlock.New(nil, redlock.WithTTL(1), redlock.WithDrift(2))
		for claim, x := range map[string]struct {
			err        error
			want       string // the beginning of the text
			is         []error
			texts, not []string
		}{
			"a lost lock":        {lost("job"), "work stopped: redlock: lock lost", []error{redlock.ErrLost}, nil, nil},
			"a wait":             {waited, "redlock: not acquired within 1.5s: held by another (acquire \"held\", lease ends in ", []error{redlock.ErrNotAcquired, redlock.ErrHeld, context.DeadlineExceeded}, []string{fmt.Sprintf(" unless renewed or released, process %d on ", os.Getpid()), " had it 1.", "s before"}, []string{"deadline"}},
			"a wait for a set":   {waitedAll, "redlock: not acquired within 20s: held by another", []error{redlock.ErrNotAcquired, redlock.ErrHeld, context.DeadlineExceeded}, nil, []string{"deadline"}},
			"a caller that left": {left, "redlock: not acquired: context canceled: the user pressed stop", []error{redlock.ErrNotAcquired, context.Canceled}, nil, nil},
			"a short list":       {short, "redlock: no quorum of masters", []error{redlock.ErrNotAcquired, redlock.ErrNoQuorum}, []string{"need 2 masters, given 1"}, nil},
			"bad options":        {bad, "redlock: invalid number of masters 0: must be 1 to 31, 5 as a rule; invalid drift 2: must be at least 0 and below 1", []error{redlock.ErrBadOption}, nil, nil},
		} {
			harness.RequireErr(t, x.err, x.is...)
			text := x.err.Error()
			if !strings.HasPrefix(text, x.want) || strings.Contains(text, "\n") || strings.Count(text, "lock lost") > 1 || strings.Count(text, "within") > 1 {
				t.Errorf("%s: %q, want %q and no more of that", claim, text, x.want)
			}
			for _, words := range x.texts {
				if !strings.Contains(text, words) {
					t.Errorf("%s: %q lacks %q", claim, text, words)
				}
			}
			for _, words := range x.not {
				if strings.Contains(text, words) {
					t.Errorf("%s: %q contains %q", claim, text, words)
				}
			}
		}
	})
}

// If a caller waits behind another caller of its client, the reason in its error is the other caller, or the
// masters' decision for the other caller. The observer gets the same error.
func TestErrorOfLocalWaiter(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		reported := make(chan error, 10)
		c := d.Reached(redlock.WithObserver(redlock.Observer{Finished: func(_ context.Context, r redlock.LockResult) {
			if r.Err != nil {
				reported <- r.Err
			}
		}}))
		requireAll := func(claim string, n int, reason error, texts ...string) {
			t.Helper()
			if len(reported) != n {
				t.Errorf("%s: %d failed, want %d", claim, len(reported), n)
			}
			for len(reported) > 0 {
				err := <-reported
				harness.RequireErr(t, err, redlock.ErrNotAcquired, reason)
				harness.RequireText(t, err, texts...)
				if reason != redlock.ErrHeld && errors.Is(err, redlock.ErrHeld) {
					t.Errorf("%s: %v", claim, err)
				}
			}
		}
		wait := func(n int, opts ...redlock.LockOption) {
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() {
					time.Sleep(time.Duration(i) * 20 * time.Millisecond)
					if lock, err := c.Lock(context.Background(), "job", opts...); err == nil {
						time.Sleep(200 * time.Millisecond)
						harness.Must(t, lock.Unlock(context.Background()))
					}
				})
			}
			all.Wait()
		}
		held := harness.MustTry(t, c, "job")
		time.Sleep(time.Second)
		wait(4, redlock.WithWait(400*time.Millisecond))
		requireAll("it has the lock", 4, redlock.ErrHeld, "redlock: not acquired within 400ms: held by another (acquire \"job\", lease ends in ",
			"this client has had it for 1.", fmt.Sprintf("with token %d: a call with a context from its Lock.Context re-enters", held.Token()))
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = c.Lock(ctx, "job")
		requireAll("its context ends", 1, redlock.ErrHeld, "redlock: not acquired: context deadline exceeded: held by another (acquire ")
		harness.Must(t, held.Unlock(context.Background()))

		wait(8, redlock.WithWait(500*time.Millisecond))
		requireAll("it passes it on", 4, redlock.ErrHeld)

		read, err := c.RLock(context.Background(), "job")
		harness.Must(t, err)
		wait(2, redlock.WithWait(time.Second))
		requireAll("it reads", 2, redlock.ErrHeld, "this client has had it for ", "for reading")
		harness.Must(t, read.Unlock(context.Background()))

		harness.All(d.Masters[1:], harness.Master.Die)
		wait(3, redlock.WithWait(time.Second))
		requireAll("the masters are down", 3, redlock.ErrNoQuorum)
	})
}

// Trap 11 of docs/TRAPS.md: a quorum grants the lock, but so late that nothing of the lease is left.
func TestTooSlowLockIsNotHeld(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached(redlock.WithTTL(300*time.Millisecond), redlock.WithRequestTimeout(290*time.Millisecond))
		for _, slow := range []struct {
			by   time.Duration
			want error
		}{{200 * time.Millisecond, nil}, {280 * time.Millisecond, redlock.ErrTooSlow}} {
			harness.All(d.Masters, harness.Master.Freeze)
			time.AfterFunc(slow.by, func() {
				harness.All(d.Masters, harness.Master.Thaw)
			})
			start := time.Now()
			lock, err := c.TryLock(context.Background(), "job", redlock.WithoutWatchdog())
			if slow.want != nil {
				harness.RequireErr(t, err, redlock.ErrNotAcquired, slow.want)
				time.Sleep(time.Millisecond)
				if got := d.Holders("job"); got != "000" {
					t.Errorf("held on %s", got)
				}
				continue
			}
			harness.Must(t, err)
			// The lease counts from before the request was sent, not from the answer.
			if left := time.Until(lock.Until()); left > 300*time.Millisecond-slow.by {
				t.Errorf("%v left %v after the start", left, time.Since(start))
			}
			harness.Must(t, lock.Unlock(context.Background()))
		}
	})
}

// The text of a server is escaped in errors, and errors.As still finds the original.
func TestMasterTextIsPrintable(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	harness.Must(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for s := bufio.NewScanner(conn); s.Scan(); {
					if strings.HasPrefix(s.Text(), "*") { // a command begins
						fmt.Fprint(conn, "-EVIL \x1b]0;title\a\u009b2J\r\n")
					}
				}
			}()
		}
	}()
	check := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), `EVIL \x1b]0;title\a\u009b2J`) || strings.ContainsAny(err.Error(), "\x1b\a\u009b") {
			t.Errorf("%s: %q", what, err)
		}
		if !master.IsReply(err) {
			t.Errorf("%s: %v is no reply of a server", what, err)
		}
	}
	down := make(chan error, 1)
	c, err := redlock.Open([]string{"redis://" + l.Addr().String()}, redlock.WithObserver(redlock.Observer{MasterDown: func(m redlock.MasterStatus) { down <- m.Err }}))
	harness.Must(t, err)
	defer c.Close()
	_, err = c.TryLock(t.Context(), "a")
	check("TryLock", err)
	check("MasterDown", <-down)
	check("found", admin.Init(t.Context(), c, 0))
}

// Callers and observers get each failure as a *redlock.QuorumError, and never as an error of an internal package.
func TestErrorsArePublic(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		ctx := context.Background()
		reported := map[string]error{}
		var mu sync.Mutex
		report := func(what string, err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				reported[what] = err
			}
		}
		c := d.Reached(redlock.WithTTL(time.Minute), redlock.WithObserver(redlock.Observer{
			AttemptFailed: func(_ context.Context, f redlock.FailedAttempt) { report("AttemptFailed", f.Err) },
			RenewalFailed: func(_ context.Context, f redlock.FailedRenewal) { report("RenewalFailed", f.Err) },
			Finished:      func(_ context.Context, r redlock.LockResult) { report("Finished", r.Err) },
			Unlocked:      func(_ context.Context, r redlock.UnlockResult) { report("Unlocked", r.Err) },
		}))
		lock, reads := harness.MustTry(t, c, "job"), harness.MustTry(t, c, "to be read")
		set := harness.MustAll(t, c, []string{"a", "b"})
		shown, err := admin.Inspect(ctx, c, "job")
		harness.Must(t, err)
		harness.Settled(t, c)
		for _, m := range d.Masters[:2] {
			m.Freeze()
			defer m.Thaw()
		}
		for what, call := range map[string]func() error{
			"TryLock": func() error { return harness.ErrOf(c.TryLock(ctx, "other")) },
			"Lock":    func() error { return harness.ErrOf(c.Lock(ctx, "other", redlock.WithWait(time.Second))) },
			"a slot": func() error {
				return harness.ErrOf(c.Lock(ctx, "slots", redlock.WithSlots(2), redlock.WithWait(time.Second)))
			},
			"TryLockAll":   func() error { return harness.ErrOf(c.TryLockAll(ctx, []string{"x", "y"})) },
			"LockAll":      func() error { return harness.ErrOf(c.LockAll(ctx, []string{"x", "y"}, redlock.WithWait(time.Second))) },
			"re-entry":     func() error { return harness.ErrOf(c.TryLock(lock.Context(), "job")) },
			"Extend":       func() error { return lock.Extend(ctx, 2*time.Minute/3) },
			"Locks.Extend": func() error { return set.Extend(ctx, 2*time.Minute/3) },
			"Downgrade":    func() error { return reads.Downgrade(ctx) },
			"Verify":       func() error { return harness.ErrOf(c.Verify(ctx, "job", 1)) },
			"Ready":        func() error { return c.Ready(ctx) },
			"Inspect":      func() error { return harness.ErrOf(admin.Inspect(ctx, c, "other")) },
			"Names":        func() error { return harness.ErrOf(admin.Names(ctx, c, 10)) },
			"ForceUnlock":  func() error { return harness.ErrOf(admin.ForceUnlock(ctx, c, shown)) },
			"a new client": func() error { return harness.ErrOf(d.Client().TryLock(ctx, "other")) },
			"its Members":  func() error { return harness.ErrOf(admin.Members(ctx, d.Client())) },
		} {
			report(what, call())
		}
		time.Sleep(20 * time.Second) // a renewal
		report("Unlock", lock.Unlock(ctx))
		report("Locks.Unlock", set.Unlock(ctx))
		mu.Lock()
		defer mu.Unlock()
		if len(reported) != 21 {
			t.Errorf("%d errors are reported: %v", len(reported), reported)
		}
		for what, err := range reported {
			if _, inside := errors.AsType[*ask.Failure](err); inside {
				t.Errorf("%s: %v is an error of an internal package", what, err)
			}
			if _, ok := errors.AsType[*redlock.QuorumError](err); !ok {
				t.Errorf("%s: %v is no *QuorumError", what, err)
			}
		}
	})
}
