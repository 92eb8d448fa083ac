package redlock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
)

// callKey is the key of a call in the contexts that its observer gets.
type callKey struct{}

// watcher returns an observer that records each event with its call.
func watcher(r *harness.Recorder) redlock.Observer {
	note := func(ctx context.Context, format string, args ...any) {
		r.Note("%v: %s", ctx.Value(callKey{}), fmt.Sprintf(format, args...))
	}
	return redlock.Observer{
		Started: func(ctx context.Context, c redlock.LockCall) context.Context {
			ctx = context.WithValue(ctx, callKey{}, fmt.Sprintf("%v%v", ctx.Value(callKey{}), c.Names))
			note(ctx, "started, set %v, reads %v, waits %v, slots %d", c.Set, c.Reads, c.Waits, c.Slots)
			return ctx
		},
		AttemptFailed: func(ctx context.Context, a redlock.FailedAttempt) {
			note(ctx, "%s failed, set %v, reads %v, waits %v", a.Name, a.Set, a.Reads, a.Waits)
		},
		Finished: func(ctx context.Context, f redlock.LockResult) {
			note(ctx, "finished after %v, %d attempts, re-entry %v, %v", f.Took, f.Attempts, f.ReEntry, f.Err == nil)
		},
		Acquired: func(ctx context.Context, a redlock.Acquisition) {
			note(ctx, "acquired %s, slot %d, set %v, reads %v, token %v, after %v, %d votes", a.Name, a.Slot, a.Set, a.Reads, a.Token.Valid(), a.Took, len(a.Votes))
		},
		Renewed: func(ctx context.Context, f redlock.Renewal) { note(ctx, "renewed %s for %v", f.Name, f.ValidFor) },
		RenewalFailed: func(ctx context.Context, f redlock.FailedRenewal) {
			note(ctx, "not renewed %s, %v left, %v", f.Name, f.ValidFor, errors.Is(f.Err, redlock.ErrNoQuorum))
		},
		Ended: func(ctx context.Context, e redlock.HoldEnd) {
			note(ctx, "ended %s after %v, taken for %v, %v", e.Name, e.Held, e.TakenFor, e.Cause)
		},
		Unlocked: func(ctx context.Context, u redlock.UnlockResult) {
			note(ctx, "unlocked %v, set %v, reads %v, after %v, %v", u.Names, u.Set, u.Reads, u.Took, u.Err)
		},
	}
}

// requireEvents checks the events since its last call.
func requireEvents(t *testing.T, r *harness.Recorder, want ...string) {
	t.Helper()
	if events := r.Take(); !slices.Equal(events, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(events, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// watched returns a client whose events are recorded from now on.
func watched(d *harness.Deployment, events *harness.Recorder, opts ...redlock.Option) *redlock.Client {
	c := d.Reached(append([]redlock.Option{redlock.WithObserver(watcher(events))}, opts...)...)
	synctest.Wait()
	events.Take()
	return c
}

// A call and its hold are reported from begin to end, with the context that Started returned.
func TestObserverHold(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var events harness.Recorder
		c := watched(d, &events)
		ctx := context.WithValue(t.Context(), callKey{}, "mine")
		lock, err := c.Lock(ctx, "a", redlock.WithTTL(30*time.Second))
		harness.Must(t, err)
		requireEvents(t, &events,
			"mine[a]: started, set false, reads false, waits true, slots 0",
			"mine[a]: acquired a, slot 0, set false, reads false, token true, after 0s, 3 votes",
			"mine[a]: finished after 0s, 1 attempts, re-entry false, true")
		time.Sleep(10*time.Second + time.Millisecond)
		valid := 30*time.Second - harness.Hold(lock).Terms().Drift
		requireEvents(t, &events, fmt.Sprint("mine[a]: renewed a for ", valid))
		second, err := c.TryRLock(lock.Context(), "a")
		harness.Must(t, err)
		harness.Must(t, second.Unlock(context.WithValue(t.Context(), callKey{}, "other")))
		requireEvents(t, &events,
			"mine[a]: started, set false, reads true, waits false, slots 0",
			"mine[a]: finished after 0s, 0 attempts, re-entry true, true",
			"other: unlocked [a], set false, reads true, after 0s, <nil>")
		harness.Must(t, lock.Unlock(t.Context()))
		harness.RequireErr(t, lock.Unlock(t.Context()), redlock.ErrReleased)
		requireEvents(t, &events,
			fmt.Sprintf("mine[a]: ended a after %v, taken for 0s, %v", 10*time.Second+time.Millisecond, redlock.ErrReleased),
			"<nil>: unlocked [a], set false, reads false, after 0s, <nil>",
			fmt.Sprint("<nil>: unlocked [a], set false, reads false, after 0s, ", redlock.ErrReleased))
		if lock.Context().Value(callKey{}) != "mine" {
			t.Error("the hold's context is the observer's")
		}
	})
}

// A failed call is reported with its options and its number of attempts.
func TestObserverFailedCall(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		held := harness.MustTry(t, d.Reached(), "a")
		var events harness.Recorder
		c := watched(d, &events)
		_ = harness.MustFail(t, c, "a")
		requireEvents(t, &events,
			"<nil>[a]: started, set false, reads false, waits false, slots 0",
			"<nil>[a]: a failed, set false, reads false, waits false",
			"<nil>[a]: finished after 0s, 1 attempts, re-entry false, false")
		harness.RequireErr(t, harness.ErrOf(c.Lock(t.Context(), "a", redlock.WithWait(time.Second/2))), redlock.ErrHeld)
		failed := events.Count("<nil>[a]: a failed, set false, reads false, waits true")
		if failed < 1 || events.Count(fmt.Sprintf("<nil>[a]: finished after 500ms, %d attempts, re-entry false, false", failed)) != 1 {
			t.Errorf("reported %q", events.Take())
		}
		events.Take()
		harness.RequireErr(t, harness.ErrOf(c.Lock(t.Context(), "")), redlock.ErrBadOption)
		requireEvents(t, &events) // no events for bad input
		harness.Must(t, held.Unlock(t.Context()))
		harness.Must(t, c.Close())
		harness.RequireErr(t, harness.ErrOf(c.Lock(t.Context(), "a")), redlock.ErrClosed)
		requireEvents(t, &events,
			"<nil>[a]: started, set false, reads false, waits true, slots 0",
			"<nil>[a]: finished after 0s, 0 attempts, re-entry false, false")
	})
}

// Events name readers, sets and slots as such.
func TestObserverReadersSetsAndSlots(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var events harness.Recorder
		c := watched(d, &events)
		reader, err := c.RLock(t.Context(), "a")
		harness.Must(t, err)
		harness.Must(t, reader.Unlock(t.Context()))
		requireEvents(t, &events,
			"<nil>[a]: started, set false, reads true, waits true, slots 0",
			"<nil>[a]: acquired a, slot 0, set false, reads true, token false, after 0s, 3 votes",
			"<nil>[a]: finished after 0s, 1 attempts, re-entry false, true",
			"<nil>[a]: ended a after 0s, taken for 0s, "+redlock.ErrReleased.Error(),
			"<nil>: unlocked [a], set false, reads true, after 0s, <nil>")
		writer := harness.MustTry(t, c, "a")
		harness.Must(t, writer.Downgrade(t.Context()))
		events.Take()
		harness.Must(t, writer.Unlock(t.Context()))
		if events.Count("<nil>: unlocked [a], set false, reads false") != 1 {
			t.Errorf("a writer that was downgraded: %q", events.Take())
		}
		synctest.Wait()
		events.Take()

		set := harness.MustAll(t, c, []string{"b", "a"})
		time.Sleep(time.Second)
		harness.RequireErr(t, harness.ErrOf(c.TryLockAll(t.Context(), []string{"a", "C"})), redlock.ErrHeld)
		harness.Must(t, set.Unlock(t.Context()))
		requireEvents(t, &events,
			"<nil>[a b]: started, set true, reads false, waits false, slots 0",
			"<nil>[a b]: acquired a, slot 0, set true, reads false, token true, after 0s, 3 votes",
			"<nil>[a b]: acquired b, slot 0, set true, reads false, token true, after 0s, 3 votes",
			"<nil>[a b]: finished after 0s, 1 attempts, re-entry false, true",
			"<nil>[C a]: started, set true, reads false, waits false, slots 0",
			"<nil>[C a]: a failed, set true, reads false, waits false",
			"<nil>[C a]: finished after 0s, 1 attempts, re-entry false, false",
			"<nil>[a b]: ended a after 1s, taken for 0s, "+redlock.ErrReleased.Error(),
			"<nil>[a b]: ended b after 1s, taken for 0s, "+redlock.ErrReleased.Error(),
			"<nil>: unlocked [a b], set true, reads false, after 0s, <nil>")

		harness.Must(t, harness.MustTry(t, c, "d", redlock.WithSlots(1)).Unlock(t.Context()))
		if events.Count("<nil>[d]: acquired d~slot1, slot 1, ") != 1 || events.Count("<nil>[d]: started, set false, reads false, waits false, slots 1") != 1 {
			t.Errorf("slots: %q", events.Take())
		}
		events.Take()
		harness.Must(t, harness.MustTry(t, c, "e", redlock.WithHoldAtLeast(5*time.Second)).Unlock(t.Context()))
		if events.Count("<nil>[e]: ended e after 0s, taken for 5s, "+redlock.ErrReleased.Error()) != 1 {
			t.Errorf("it lingers: %q", events.Take())
		}
	})
}

// Each batch is reported: its size, its time, and the error of its answer.
func TestObserverMasterCalls(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		calls := make(chan redlock.MasterCall, 1000)
		c := d.Reached(redlock.WithObserver(redlock.Observer{MasterCalled: func(call redlock.MasterCall) { calls <- call }}))
		all := func() (reports []redlock.MasterCall) {
			synctest.Wait()
			for len(calls) > 0 {
				reports = append(reports, <-calls)
			}
			slices.SortFunc(reports, func(a, b redlock.MasterCall) int { return strings.Compare(a.Master, b.Master) })
			return reports
		}
		all()
		set, err := c.LockAll(t.Context(), []string{"a", "b", "c"})
		harness.Must(t, err)
		for i, call := range all() {
			if want := (redlock.MasterCall{Master: d.Address(i), Operations: 3}); call != want {
				t.Errorf("reported %+v, want %+v", call, want)
			}
		}
		d.Masters[2].Freeze()
		harness.Must(t, set.Unlock(t.Context()))
		time.Sleep(harness.Inside(c).RequestTimeout)
		reports := all()
		if len(reports) != 3 || reports[2].Master != d.Address(2) || reports[2].Err == nil || reports[2].Took != harness.Inside(c).RequestTimeout {
			t.Errorf("with one master that hangs: reported %+v", reports)
		}
	})
}

// Observers calls all observers in order, whichever functions they have.
func TestObservers(t *testing.T) {
	t.Parallel()
	var reports []string
	all := make([]redlock.Observer, 2)
	for i := range all {
		o := reflect.ValueOf(&all[i]).Elem()
		for f := range o.NumField() {
			name := fmt.Sprint(o.Type().Field(f).Name, i)
			o.Field(f).Set(reflect.MakeFunc(o.Field(f).Type(), func(args []reflect.Value) []reflect.Value {
				reports = append(reports, name)
				if o.Field(f).Type().NumOut() == 1 {
					ctx := args[0].Interface().(context.Context)
					return []reflect.Value{reflect.ValueOf(context.WithValue(ctx, callKey{}, fmt.Sprintf("%v%v", ctx.Value(callKey{}), i)))}
				}
				return nil
			}))
		}
	}
	both := reflect.ValueOf(redlock.Observers(append([]redlock.Observer{{}}, all...)...))
	for f := range both.NumField() {
		reports = nil
		var args []reflect.Value
		for i := range both.Field(f).Type().NumIn() {
			in := both.Field(f).Type().In(i)
			if in.Kind() == reflect.Interface {
				args = append(args, reflect.ValueOf(context.Background()))
			} else {
				args = append(args, reflect.Zero(in))
			}
		}
		out := both.Field(f).Call(args)
		name := both.Type().Field(f).Name
		if want := []string{name + "0", name + "1"}; !slices.Equal(reports, want) {
			t.Errorf("reported %q, want %q", reports, want)
		}
		if len(out) == 1 && out[0].Interface().(context.Context).Value(callKey{}) != "<nil>01" {
			t.Error("the context of the first is not given to the second")
		}
	}
	if none := reflect.ValueOf(redlock.Observers(redlock.Observer{}, redlock.Observer{})); !none.IsZero() {
		t.Error("observers that want to know nothing cost something")
	}
}

// A nil context from Started is a bug of the program, and panics at once.
func TestObserverNilContext(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Client()
		c.Watch(redlock.Observer{Started: func(context.Context, redlock.LockCall) context.Context { return nil }})
		defer func() {
			if got := fmt.Sprint(recover()); got != "redlock: Observer.Started returned a nil context" {
				t.Errorf("panic %q", got)
			}
		}()
		_, _ = c.TryLock(t.Context(), "a")
	})
}

// The end of a hold is reported after its begin, even if the lease runs out during the report of the begin.
func TestObserverOrder(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		c := d.Reached()
		var events harness.Recorder
		c.Watch(redlock.Observer{
			Acquired: func(context.Context, redlock.Acquisition) {
				time.Sleep(2 * time.Second) // beyond the lease
				events.Note("acquired")
			},
			Ended: func(context.Context, redlock.HoldEnd) { events.Note("ended") },
		})
		lock := harness.MustTry(t, c, "a", redlock.WithTTL(time.Second), redlock.WithoutWatchdog())
		<-lock.Context().Done()
		set := harness.MustAll(t, c, []string{"b"}, redlock.WithTTL(time.Second), redlock.WithoutWatchdog())
		<-set.Context().Done()
		synctest.Wait()
		requireEvents(t, &events, "acquired", "ended", "acquired", "ended")
	})
}

// logLines records log lines without the time, with placeholders for values that differ between runs.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logLines) logger() *slog.Logger {
	return slog.New(withCall{slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey:
			return slog.Attr{}
		case "token":
			return slog.Bool("token", a.Value.Uint64() > 0)
		}
		return a
	}})})
}

// withCall adds to a record the call that is in the record's context.
type withCall struct{ slog.Handler }

func (h withCall) Handle(ctx context.Context, r slog.Record) error {
	if call := ctx.Value(callKey{}); call != nil {
		r.AddAttrs(slog.Any("call", call))
	}
	return h.Handler.Handle(ctx, r)
}

// take returns the lines since it was called the last time.
func (l *logLines) take() []string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(l.text.String()), "\n")
	l.text.Reset()
	return lines
}

// Events that need an operator have a higher level than normal events.
func TestLogObserver(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		var out logLines
		c := d.Reached(redlock.WithObserver(redlock.LogObserver(out.logger())))
		logged := func(want ...string) {
			t.Helper()
			lines := out.take()
			for _, w := range want {
				found := false
				for _, line := range lines {
					found = found || strings.HasPrefix(line, w)
				}
				if !found {
					t.Errorf("not logged: %s\nlogged:\n\t%s", w, strings.Join(lines, "\n\t"))
				}
			}
		}
		silent := func(level string) {
			t.Helper()
			for _, line := range out.take() {
				if strings.HasPrefix(line, "level="+level) {
					t.Errorf("logged %s", line)
				}
			}
		}
		logged(`level=INFO msg="redlock: master up" master=`+d.Address(0), `level=INFO msg="redlock: table of members learned" version=`)

		lock := harness.MustTry(t, c, "a", redlock.WithTTL(30*time.Second))
		time.Sleep(10*time.Second + time.Millisecond)
		harness.RequireErr(t, harness.ErrOf(c.TryLock(context.Background(), "a")), redlock.ErrHeld)
		second, err := c.TryRLock(lock.Context(), "a")
		harness.Must(t, err)
		harness.Must(t, second.Unlock(context.Background()))
		harness.Must(t, lock.Unlock(context.Background()))
		synctest.Wait()
		logged(
			`level=DEBUG msg="redlock: lock acquired" lock=a token=true mode=write took=0s`,
			`level=DEBUG msg="redlock: locked" lock=a mode=write took=0s attempts=1`,
			`level=DEBUG msg="redlock: lock renewed" lock=a token=true mode=write valid_for=29.6`,
			`level=DEBUG msg="redlock: lock attempt failed" lock=a mode=write took=0s error="redlock: held by another`,
			`level=DEBUG msg="redlock: not locked" lock=a mode=write took=0s attempts=1 error="redlock: held by another`,
			`level=DEBUG msg="redlock: re-entered" lock=a mode=read took=0s attempts=0`,
			`level=DEBUG msg="redlock: lock released" lock=a token=true mode=write held=10.001s taken_for=0s`)

		lock, err = c.Lock(context.WithValue(t.Context(), callKey{}, "mine"), "b")
		harness.Must(t, err)
		harness.Must(t, lock.Unlock(context.Background()))
		logged(`level=DEBUG msg="redlock: lock released" lock=b token=true mode=write held=0s taken_for=0s call=mine`)
		set, err := c.LockAll(context.Background(), []string{"b", "c"})
		harness.Must(t, err)
		harness.RequireErr(t, harness.ErrOf(c.Lock(context.Background(), "b", redlock.WithWait(time.Second))), redlock.ErrHeld)
		harness.Must(t, set.Unlock(context.Background()))
		harness.RequireErr(t, set.Unlock(context.Background()), redlock.ErrReleased)
		logged(
			`level=DEBUG msg="redlock: locked" locks="[b c]" mode=write`,
			`level=INFO msg="redlock: not locked" lock=b mode=write took=1s attempts=`,
			`level=WARN msg="redlock: unlock failed" locks="[b c]" mode=write took=0s error="redlock: already released"`)

		lock = harness.MustTry(t, c, "d", redlock.WithTTL(30*time.Second))
		silent("WARN")
		d.Masters[0].Die()
		d.Masters[1].Die()
		<-lock.Context().Done()
		harness.RequireErr(t, lock.Unlock(context.Background()), redlock.ErrExpired)
		harness.RequireErr(t, harness.ErrOf(c.TryLock(context.Background(), "e")), redlock.ErrNoQuorum)
		logged(
			`level=WARN msg="redlock: lock not renewed" lock=d token=true mode=write valid_for=`,
			`level=WARN msg="redlock: master down" master=`+d.Address(0)+` error=`,
			`level=ERROR msg="redlock: lock lost before its unlock" lock=d token=true mode=write held=29.6`,
			`level=WARN msg="redlock: unlock failed" lock=d mode=write took=0s error="redlock: lease expired"`,
			`level=WARN msg="redlock: not locked" lock=e mode=write took=`,
			`level=DEBUG msg="redlock: no answer from a master" master=`)
	})
}

// A handle that the program dropped without an Unlock is reported, with the call that returned the handle: for a lock,
// for a re-entry under Do, and for a set. A kept or unlocked handle is not reported.
func TestForgottenLockIsReported(t *testing.T) {
	harness.OnProcesses(t, 3, func(t *testing.T, d *harness.Deployment) {
		var forgotten, renewed harness.Recorder
		var log bytes.Buffer
		c := d.Reached(redlock.WithTTL(2*d.TTL()), redlock.WithRequestTimeout(2*d.Request()), redlock.WithObserver(redlock.Observers(
			redlock.Observer{Renewed: func(_ context.Context, r redlock.Renewal) { renewed.Note("%s", r.Name) }},
			redlock.Observer{Forgotten: func(_ context.Context, f redlock.ForgottenHold) {
				forgotten.Note("%s %v, %v", f.Name, f.Token.Valid(), f.Held > 0)
			}},
			redlock.LogObserver(slog.New(slog.NewTextHandler(&log, nil))))))
		kept, unlocked := harness.MustTry(t, c, "kept"), harness.MustTry(t, c, "unlocked")
		harness.MustTry(t, c, "dropped")
		harness.MustAll(t, c, []string{"a", "b"})
		harness.Must(t, c.Do(context.Background(), "nested", func(ctx context.Context, _ fence.Token) error {
			harness.MustEnter(t, c, ctx, "nested")
			return nil
		}))
		for _, name := range []string{"kept", "unlocked", "dropped", "a", "b", "nested"} {
			harness.Eventually(t, name+" is renewed", func() bool { return renewed.Count(name) > 1 })
		}
		harness.Must(t, unlocked.Unlock(context.Background()))
		harness.Eventually(t, "all are told", func() bool {
			runtime.GC()
			return len(forgotten.Events()) >= 4
		})
		want := []string{"a true, true", "b true, true", "dropped true, true", "nested true, true"}
		if got := slices.Sorted(slices.Values(forgotten.Events())); !slices.Equal(got, want) {
			t.Errorf("reported %q, want %q", got, want)
		}
		if !kept.Valid() {
			t.Error("it is not held")
		}
		harness.Must(t, kept.Unlock(context.Background()))
		harness.Must(t, c.Close())
		for _, words := range []string{`level=WARN msg="redlock: lock forgotten: no reference to its handle is left, and it was not unlocked" lock=dropped token=`,
			`level=WARN msg="redlock: lock not unlocked, and released by Close" lock=dropped token=`} {
			if !strings.Contains(log.String(), words) {
				t.Errorf("%q is not in %s", words, log.String())
			}
		}
	})
}
