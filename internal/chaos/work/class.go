package work

import (
	"context"
	"errors"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// classes are the classes of the lock's errors. The first class that fits counts. So the loss of a hold counts before
// the missing quorum that caused the loss, and the reason why a lock was not acquired counts before the deadline of the
// wait.
var classes = []struct {
	err   error
	class string
}{
	{redlock.ErrReleased, history.ErrReleased},
	{redlock.ErrUpgrade, history.ErrUpgrade},
	{redlock.ErrLost, history.ErrLost},
	{redlock.ErrExpired, history.ErrExpired},
	{context.Canceled, history.ErrCanceled},
	{redlock.ErrClosed, history.ErrCanceled},
	{redlock.ErrHeld, history.ErrHeld},
	{redlock.ErrTooSlow, history.ErrTooSlow},
	{redlock.ErrNoQuorum, history.ErrNoQuorum},
	{context.DeadlineExceeded, history.ErrCanceled},
}

// LockClass returns the class of an error of the lock, or "" if err is nil. An unknown error is a class of its own, so
// that people notice it.
func LockClass(err error) string {
	if err == nil {
		return ""
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return c.class
		}
	}
	return err.Error()
}

// storeClass returns the class of an error of a store. After any error but a refusal it is unknown whether
// the access was done.
func storeClass(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fence.ErrStale):
		return history.ErrRefused
	}
	return history.ErrUnknown
}
