package redlock

import (
	"context"
	"io"
	"sync"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/announce"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/unwind"
)

// Client locks names on a quorum of independent Redis masters. Make one with New or Open, share it
// between goroutines, and Close it. A name has 1 to 1024 bytes.
type Client struct {
	config
	masters []*master.Master
	members *membership.Group
	owned   []io.Closer // made by Open, and closed by Close
	id      string      // random; each owner of the client's acquisitions begins with it
	asker   *ask.Asker
	locks   *acquire.Client
	holds   *lease.Holds

	closed context.Context // ends when Close begins
	close  context.CancelCauseFunc
	mu     sync.Mutex // guards calls.Add against calls.Wait
	calls  sync.WaitGroup
	ending sync.Mutex // held by Close while it ends the holds, and by an Unlock after Close began

	announcer *announce.Announcer
}

// TryLock asks every master once for the lock and returns as soon as the answer is certain: with
// the lock held, or with an error that wraps ErrNotAcquired and one of ErrHeld, ErrNoQuorum and
// ErrTooSlow (a *QuorumError). It takes at most the request timeout, even if the members have
// changed. If ctx ends first, the error is ctx's error and cause instead, and TryLock releases in
// the background what the masters had granted. Bad input is an *OptionError and not an
// ErrNotAcquired, because another attempt would not help.
//
// With a ctx derived from the Context of a lock of the same name, TryLock re-enters that lock: the
// token stays the same, and each entry needs an Unlock of its own. WithoutReentry refuses re-entry.
//
// Do not assume that the lock is held until Unlock: see Lock.Context.
func (c *Client) TryLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.lock(ctx, name, opts, mode{})
}

// Lock tries like TryLock, again and again, until it has the lock or ctx ends. When ctx ends, Lock
// returns ctx's error and cause, joined with the error of the last attempt that had a result.
// A Client serves, in order of arrival, its callers that wait for one name; only the first asks
// the masters. When waiting alone cannot help, for example because no deployment was
// founded, Lock returns at once; see WithWaitForSetup.
//
// The lock's Context is derived from ctx. When ctx ends, so does the Context, and work under the
// lock should stop. But the client still holds the lock, and renews it, until Unlock; with
// WithContextRenewal, the end of ctx also stops the renewal. To bound only the wait, use WithWait.
func (c *Client) Lock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.lock(ctx, name, opts, mode{waits: true})
}

// Do runs work while holding the lock, and always unlocks it afterwards (even if work panics). The
// ctx of work ends when the hold ends: then work must stop. Work must pass its token to the
// stores that it writes to, so that they can refuse the writes of older holders.
//
// Do returns work's error joined with the error of Unlock. A nil error means that the lock was held
// from before work began until after it returned. If Do does not get the lock, it does not run
// work, and returns the error of Lock.
//
// If work re-enters the lock, and does not unlock the handle that it gets, the lock stays held after
// Do has returned: see Observer.Forgotten.
func (c *Client) Do(ctx context.Context, name string, work func(ctx context.Context, token fence.Token) error, opts ...LockOption) (err error) {
	if work == nil {
		panic("redlock: nil work")
	}
	lock, err := c.Lock(ctx, name, opts...)
	if err != nil {
		return err
	}
	defer unlockAfter(ctx, lock, &err)
	return work(lock.Context(), lock.Token())
}

// unlockAfter unlocks, and joins the error of the unlock to err.
func unlockAfter(ctx context.Context, held interface{ Unlock(context.Context) error }, err *error) {
	if unlockErr := held.Unlock(ctx); unlockErr != nil {
		*err = printable.Join(*err, unlockErr)
	}
}

// mode is the kind of a call. The zero mode is a call for writing that makes one attempt.
type mode struct{ reads, waits bool }

func (c *Client) lock(ctx context.Context, name string, opts []LockOption, m mode) (lock *Lock, err error) {
	c.check(ctx)
	o, err := c.request(opts, m)
	if err == nil {
		err = validateLockName(name, o.Slots)
	}
	if err != nil {
		return nil, err
	}
	t := c.startTrace(ctx, false, &o, name)
	return call(ctx, c, t, func() (*Lock, error) {
		entry, err := c.locks.Lock(ctx, name, o)
		return c.lockOf(entry, m.reads), err
	}, (*Lock).discard)
}

// call acquires a lock by calling get, and reports the result of get to the Observer. If ctx has
// ended or the client is closed, call reports this as an error, and does not call get. If the
// observer panics or ends its goroutine, call passes the result of get to discard.
func call[L any](ctx context.Context, c *Client, t tracer, get func() (L, error), discard func(L)) (got L, err error) {
	if err := c.enter(ctx); err != nil {
		err = printable.Because(ErrNotAcquired, err)
		t.finished(err)
		return got, err
	}
	defer c.calls.Done()
	got, err = get()
	err = c.public(err)
	unwind.OrElse(func() { t.finished(err) }, func() { discard(got) })
	return got, err
}
