package work

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

func TestLockClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.Join(context.DeadlineExceeded, &redlock.QuorumError{Op: "acquire", Reason: redlock.ErrHeld}), history.ErrHeld},
		{errors.Join(context.DeadlineExceeded, &redlock.QuorumError{Op: "acquire", Reason: redlock.ErrNoQuorum}), history.ErrNoQuorum},
		{&redlock.QuorumError{Op: "acquire", Reason: redlock.ErrTooSlow}, history.ErrTooSlow},
		{errors.Join(context.Canceled, &redlock.QuorumError{Op: "acquire", Reason: redlock.ErrHeld}), history.ErrCanceled},
		{redlock.ErrClosed, history.ErrCanceled},
		{errors.Join(redlock.ErrNotAcquired, redlock.ErrExpired), history.ErrExpired},
		{errors.Join(redlock.ErrNotAcquired, redlock.ErrUpgrade), history.ErrUpgrade},
		{&redlock.QuorumError{Op: "release", Reason: redlock.ErrLost}, history.ErrLost},
		{redlock.ErrReleased, history.ErrReleased},
		{io.ErrUnexpectedEOF, "unexpected EOF"},
	} {
		if got := LockClass(c.err); got != c.want {
			t.Errorf("class of %v is %q, want %q", c.err, got, c.want)
		}
	}
}

func TestStoreClass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{&fence.StaleError{Resource: "a", Token: 1, Highest: 2}, history.ErrRefused},
		{context.DeadlineExceeded, history.ErrUnknown},
		{io.EOF, history.ErrUnknown},
	} {
		if got := storeClass(c.err); got != c.want {
			t.Errorf("class of %v is %q, want %q", c.err, got, c.want)
		}
	}
}
