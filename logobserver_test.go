package redlock

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// logLines keeps what is logged, a line each, without the time and with names only of what
// differs from run to run.
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
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch a.Key {
		case slog.TimeKey:
			return slog.Attr{}
		case "token":
			return slog.Bool("token", a.Value.Uint64() > 0)
		}
		return a
	}}))
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

// What an operator has to see has a level above that of what is as it should be.
func TestLogObserver(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var out logLines
		c := d.reached(WithObserver(LogObserver(out.logger())))
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
		logged(`level=INFO msg="redlock: master up" master=`+d.address(0), `level=INFO msg="redlock: table of members learned" version=`)

		lock := mustTry(t, c, "a", WithTTL(30*time.Second))
		time.Sleep(10*time.Second + time.Millisecond)
		_, err := c.TryLock(background, "a")
		requireErr(t, err, ErrHeld)
		again, err := c.TryRLock(lock.Context(), "a")
		must(t, err)
		must(t, again.Unlock(background))
		must(t, lock.Unlock(background))
		synctest.Wait()
		logged(
			`level=DEBUG msg="redlock: lock acquired" lock=a token=true mode=write took=0s`,
			`level=DEBUG msg="redlock: locked" lock=a mode=write took=0s attempts=1`,
			`level=DEBUG msg="redlock: lock renewed" lock=a token=true mode=write valid_for=29.6`,
			`level=DEBUG msg="redlock: lock attempt failed" lock=a mode=write took=0s error="redlock: held by another`,
			`level=DEBUG msg="redlock: not locked" lock=a mode=write took=0s attempts=1 error="redlock: held by another`,
			`level=DEBUG msg="redlock: entered again" lock=a mode=read took=0s attempts=0`,
			`level=DEBUG msg="redlock: lock released" lock=a token=true mode=write held=10.001s taken_for=0s`)

		must(t, mustTry(t, c, "b").Unlock(background))
		set, err := c.LockAll(background, []string{"b", "c"})
		must(t, err)
		_, err = c.Lock(background, "b", WithWait(time.Second))
		requireErr(t, err, ErrHeld)
		must(t, set.Unlock(background))
		requireErr(t, set.Unlock(background), ErrReleased)
		logged(
			`level=DEBUG msg="redlock: locked" locks="[b c]" mode=write`,
			`level=INFO msg="redlock: not locked" lock=b mode=write took=1s attempts=`,
			`level=WARN msg="redlock: unlock failed" locks="[b c]" mode=write took=0s error="redlock: already released"`)

		lock = mustTry(t, c, "d", WithTTL(30*time.Second))
		silent("WARN")
		d.masters[0].die()
		d.masters[1].die()
		<-lock.Context().Done()
		requireErr(t, lock.Unlock(background), ErrExpired)
		_, err = c.TryLock(background, "e")
		requireErr(t, err, ErrNoQuorum)
		logged(
			`level=WARN msg="redlock: lock not renewed" lock=d token=true mode=write valid_for=`,
			`level=WARN msg="redlock: master down" master=`+d.address(0)+` error=`,
			`level=ERROR msg="redlock: lock lost before its unlock" lock=d token=true mode=write held=29.6`,
			`level=WARN msg="redlock: unlock failed" lock=d mode=write took=0s error="redlock: lease expired"`,
			`level=WARN msg="redlock: not locked" lock=e mode=write took=`,
			`level=DEBUG msg="redlock: no answer of a master" master=`)
	})
}

// Everything that an observer is told is logged, but for the start of a call.
func TestLogObserverLogsAll(t *testing.T) {
	t.Parallel()
	o := reflect.ValueOf(LogObserver(slog.New(slog.DiscardHandler)))
	for f := range o.NumField() {
		if name := o.Type().Field(f).Name; o.Field(f).IsNil() != (name == "Started") {
			t.Errorf("%s is nil: %v", name, o.Field(f).IsNil())
		}
	}
	defer func() {
		if got := fmt.Sprint(recover()); got != "redlock: nil logger" {
			t.Errorf("panic %q", got)
		}
	}()
	LogObserver(nil)
}

// The record of a hold has the context of its call.
func TestLogObserverGivesTheContextOn(t *testing.T) {
	t.Parallel()
	inVirtualTime(t, 3, func(t *testing.T, d *deployment) {
		var told recorder
		c := d.client(WithObserver(LogObserver(slog.New(contextHandler{slog.DiscardHandler, &told}))))
		ctx := context.WithValue(t.Context(), callKey{}, "mine")
		lock, err := c.Lock(ctx, "a")
		must(t, err)
		must(t, lock.Unlock(t.Context()))
		if told.count("redlock: lock acquired mine") != 1 || told.count("redlock: lock released mine") != 1 {
			t.Errorf("told %q", told.events)
		}
	})
}

type contextHandler struct {
	slog.Handler
	told *recorder
}

func (contextHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h contextHandler) Handle(ctx context.Context, r slog.Record) error {
	h.told.note("%s %v", r.Message, ctx.Value(callKey{}))
	return nil
}
