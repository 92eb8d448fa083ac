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
	"github.com/redlock-go/redlock/internal/masterurl"
)

const (
	// firstWord is how long the wait for the lock may last before it is told.
	firstWord = 3 * time.Second

	// longestSilence is what the pauses between two words grow to.
	longestSilence = 10 * time.Minute
)

// longWait tells the user that the lock is not there yet, and why. Each pause
// between two words is twice as long as the one before.
type longWait struct {
	cfg      *runConfig
	failure  atomic.Pointer[error] // of the latest attempt
	hopeless chan error            // gets why it may be in vain
	began    time.Time
	words    int
}

func newLongWait(cfg *runConfig) *longWait {
	return &longWait{cfg: cfg, hopeless: make(chan error, 1)}
}

// failed takes why an attempt failed. Two reasons do not go away: the masters belong to no
// deployment, or are not trusted, or do not trust us.
func (w *longWait) failed(_ context.Context, a redlock.FailedAttempt) {
	if !a.Waits {
		return
	}
	w.failure.Store(&a.Err)
	if errors.Is(a.Err, redlock.ErrNeedsInit) || distrusted(a.Err) {
		select {
		case w.hopeless <- a.Err:
		default:
		}
	}
}

// distrusted reports that certificates or keys leave no quorum of masters: it is no use to
// wait before somebody changes a file or a server.
func distrusted(err error) bool {
	q, ok := errors.AsType[*redlock.QuorumError](err)
	if !ok {
		return false
	}
	left := len(q.Votes)
	for _, v := range q.Votes {
		if _, bad := errors.AsType[*masterurl.TLSError](v.Err); bad {
			left--
		}
	}
	return left < min(q.Need, len(q.Votes))
}

// next returns the channel on which the next word is due.
func (w *longWait) next() <-chan time.Time { return time.After(silence(w.words)) }

// silence is how long to say nothing after so many words.
func silence(words int) time.Duration { return min(firstWord<<min(words, 16), longestSilence) }

// speak says why the wait lasts. It asks who has the lock, which takes a moment at most.
func (w *longWait) speak(ctx context.Context, client *redlock.Client) {
	w.words++
	why := "no attempt has ended yet"
	if err := w.failure.Load(); err != nil {
		why = reason(*err, w.cfg.Verbose)
		if errors.Is(*err, redlock.ErrHeld) {
			why += holder(ctx, client, w.cfg.Name)
		}
	}
	complain(fmt.Errorf("waiting for %q for %v: %s", w.cfg.Name, time.Since(w.began).Round(time.Second), why))
}

// holder says what is known of who holds a name, to be put behind that it is held.
func holder(ctx context.Context, client *redlock.Client, name string) string {
	said := ""
	if in, err := client.Inspect(ctx, name); err == nil && in.Quorum.Owner != "" { // else the next word tells
		said = ": " + in.Quorum.Holder.String()
	}
	if os.Getenv(nameVariable) == name {
		said += " (this is within a redlock run that holds a lock of this name: if it is the same lock, the wait is in vain)"
	}
	return said
}
