package redlock

import (
	"context"

	"github.com/redlock-go/redlock/internal/ask"
)

// A lock is held by one writer, or by any number of readers. A reader's hold is a hold like any
// other: it has its own owner, a quorum of masters, a lease and a watchdog. The reader's quorum
// shares a master with every quorum of a writer, and the shared master grants the lock to only one
// of the two.

// TryRLock is TryLock for reading: any number of readers may hold a name, as long as no writer holds
// it. Lock, TryLock and Do of the same name are for writing.
//
// TryRLock is also refused when a writer waits for the name: otherwise readers that come one after
// the other could keep the writer out for ever.
//
// With a ctx derived from the Context of a lock of the same name, TryRLock re-enters that lock,
// even if other callers wait. A hold for writing that is re-entered remains for writing until its
// last Unlock, or until Downgrade. With a ctx of a lock that is held for reading, TryLock and Lock
// fail at once, with ErrUpgrade.
//
// A lock that is held for reading has no token, neither in Token nor in its Context: so a guard refuses
// the writes of a reader. LastToken shows whether somebody may have written between two reads.
func (c *Client) TryRLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.lock(ctx, name, opts, mode{reads: true})
}

// RLock tries as TryRLock does, again and again, until it has the lock or ctx ends; see Lock.
// Readers and writers wait in one queue, in the order of their tickets. A reader never overtakes
// a writer that came earlier, and a writer never overtakes a reader that came earlier.
// Readers that follow each other in the queue are called together. When the first waiting reader of
// a Client gets the name, the Client's next readers all ask the masters at the same time.
func (c *Client) RLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.lock(ctx, name, opts, mode{reads: true, waits: true})
}

// DoRead runs work while it holds the lock as RLock does; see Do. There is no token: work must not
// write.
func (c *Client) DoRead(ctx context.Context, name string, work func(ctx context.Context) error, opts ...LockOption) (err error) {
	if work == nil {
		panic("redlock: nil work")
	}
	lock, err := c.RLock(ctx, name, opts...)
	if err != nil {
		return err
	}
	defer unlockAfter(ctx, lock, &err)
	return work(lock.Context())
}

// Downgrade turns a writer into a reader, and returns when a quorum of masters has done so. No
// other holder can write meanwhile: each master changes the hold in one step, and keeps other
// writers out before and after this step. After this step, other readers get the lock. A waiting
// writer is served after the readers that came before it.
//
// The whole hold reads afterwards, with the same lease: Token is zero, and the contexts of its
// handles carry no token.
//
// If another handle of the hold is for writing, Downgrade returns ErrWriters, and changes nothing. It returns
// ErrReleased, ErrExpired or ErrLost if the hold is over. It returns a *QuorumError with
// ErrNoQuorum, or ctx's error and cause, if no quorum replied. Then the hold is for reading all the
// same, but masters may keep other readers out until a renewal or another Downgrade reaches them.
// On a hold that is already for reading, Downgrade only asks the masters again.
func (l *Lock) Downgrade(ctx context.Context) error {
	if l.none() {
		return errNoLock
	}
	h, c := l.h, l.client
	c.check(ctx)
	if err := l.over(ctx); err != nil {
		return err
	}
	ttl, err := l.entry.Downgrade()
	if err != nil {
		return err
	}
	err = c.extendNow(ctx, h, ask.OpDowngrade, ttl)
	h.Unblock()
	return err
}
