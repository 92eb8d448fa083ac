package work

import (
	"context"
	"errors"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

// classes are those of the errors of the lock, the first that fits counts: a hold that was lost is
// more than the quorum that said so, and of a wait that ended it matters why the lock was not had.
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

// LockClass returns the class of an error of the lock, "" if there was none. One that is unheard of
// stands for itself, so that somebody looks at it.
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

// storeClass returns the class of an error of a store. Whatever is no refusal leaves open whether
// it was done.
func storeClass(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fence.ErrStale):
		return history.ErrRefused
	}
	return history.ErrUnknown
}
