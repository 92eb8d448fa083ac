//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
)

const (
	// firstWord is how long the wait for the lock may last before the first message.
	firstWord = 3 * time.Second

	// longestSilence is the longest pause between two messages.
	longestSilence = 10 * time.Minute
)

// longWait prints on stderr that redlock run waits for the lock, and why. Each pause between two messages is twice as
// long as the one before, up to longestSilence.
type longWait struct {
	cfg     *runConfig
	failure atomic.Pointer[error] // the error of the latest attempt
	began   time.Time
	words   int
}

func newLongWait(cfg *runConfig) *longWait { return &longWait{cfg: cfg} }

// failed records why an attempt failed.
func (w *longWait) failed(_ context.Context, a redlock.FailedAttempt) {
	if a.Waits {
		w.failure.Store(&a.Err)
	}
}

// next returns a channel that receives when the next message is due.
func (w *longWait) next() <-chan time.Time { return time.After(silence(w.words)) }

// silence returns the pause after a number of messages.
func silence(words int) time.Duration { return min(firstWord<<min(words, 16), longestSilence) }

// speak prints why the wait lasts.
func (w *longWait) speak(ctx context.Context, client *redlock.Client) {
	w.words++
	why, held := "no attempt has ended yet", false
	if err := w.failure.Load(); err != nil {
		if held = errors.Is(*err, redlock.ErrHeld); held && w.cfg.Wait != nil && w.cfg.quiet() {
			return // if the lock stays held, COMMAND is skipped silently
		}
		why = w.cfg.reason(ctx, client, *err)
	}
	complain(fmt.Errorf("waiting for %q for %v: %s", w.cfg.Name, time.Since(w.began).Round(time.Second), why))
	w.cfg.hint(held)
}

// quiet reports whether redlock run prints nothing when another holds the lock.
func (cfg *runConfig) quiet() bool { return cfg.NotObtained == exitOK && !cfg.Verbose }

// heldBy returns a text with what the masters have stored about the holder of a name.
func heldBy(ctx context.Context, client *redlock.Client, name string) string {
	in, err := admin.Inspect(ctx, client, name)
	switch q := in.Quorum; {
	case err == nil && q.State == admin.LockLingers:
		return fmt.Sprintf("%v left it, and it stays taken for %v", q.Holder, shortly(q.Remaining))
	case err == nil && q.Owner != "":
		return fmt.Sprintf("held by %v", q.Holder)
	case err == nil && len(q.Readers) > 0:
		return "held by " + counted(len(q.Readers), "reader")
	}
	return "held by another"
}

// hint warns if the lock is held and this process belongs to the COMMAND of a redlock run with the same name.
func (cfg *runConfig) hint(held bool) {
	if held && os.Getenv(nameVariable) == cfg.Name {
		complain(fmt.Errorf("this is within a redlock run that holds %q: if it is the same lock, it is waited for in vain", cfg.Name))
	}
}
