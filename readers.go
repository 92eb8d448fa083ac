package redlock

import (
	"context"

	"github.com/redlock-go/redlock/fence"
)

// A lock is held by one writer, or by any number of readers. A reader's hold is a hold as any
// other: of its own owner, on a quorum of masters, with a lease and a watchdog of its own. It
// shares a master with every quorum of a writer, and that master has the one or the other.

// TryRLock is TryLock for reading: any number of readers may hold a name, as long as nobody
// holds it for writing. Lock, TryLock and Do of the same name are for writing.
//
// A reader is refused also when a writer waits for the name: else readers that come one after the
// other could keep it out for ever.
//
// With a ctx derived from the Context of a lock of the same name, it re-enters that lock,
// whoever waits. One that was entered for writing stays so until its last Unlock, or
// Downgrade. The other way round, a TryLock or Lock under a lock that is held for reading is
// refused at once, with ErrUpgrade.
//
// A lock that is held for reading has no token (Token, fence.FromContext): a guard refuses
// its holder's writes. LastToken tells of the last writer.
func (c *Client) TryRLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.lock(ctx, name, opts, true, false)
}

// RLock is TryRLock, again and again, until it has the lock or ctx ends, as Lock is of
// TryLock. Who waits is served by its ticket, whether it is to read or to write: a reader goes
// before the writers that come after it, and no reader before a writer that came first. Readers
// that follow each other in line are called together.
func (c *Client) RLock(ctx context.Context, name string, opts ...LockOption) (*Lock, error) {
	return c.lock(ctx, name, opts, true, true)
}

// DoRead is Do for reading: it runs work while holding the lock as RLock does. There is no
// token: work must not write.
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

// read makes the settings those of a reader, or refuses what only writers have.
func (l *lockConfig) read() error {
	if l.slots > 0 {
		return &OptionError{"slots", l.slots, "readers take none: any number of them hold a name at a time"}
	}
	if l.atLeast > 0 {
		return &OptionError{"hold at least", l.atLeast, "a name that readers had does not stay taken"}
	}
	l.reads = true
	return nil
}

// LastToken tells a reader of the writers before it. No writer of the name that was complete when
// this hold was asked for has a higher token, and every writer that asks after this hold was
// complete gets a higher one. So when two reads have the same LastToken, nobody wrote between
// them, and what was read in the first is still good in the second. (The converse is not
// promised: names share counters, so it may be higher though nobody wrote.)
//
// Of a hold that writes, or did before Downgrade, it is the token of that. It is no proof of
// anything: do not give it to a guard.
func (l *Lock) LastToken() fence.Token {
	if l.none() {
		return 0
	}
	return l.h.last
}

// Downgrade makes a reader of a writer, and returns when a quorum of masters has done so. There is
// no moment in between in which another could write: each master turns the hold in one step, and
// those that have not done so yet keep other writers out as well. From then on other readers
// are let in, and the writers that wait are in line behind those that came before them.
//
// The whole hold reads afterwards, with the same lease: Token is zero, and the contexts of its
// handles carry none. So there must be no other handle of it that was locked for writing.
//
// Errors: ErrWriters if there is one, and then nothing has changed; ErrReleased, ErrExpired or
// ErrLost if the hold is over; else a *QuorumError with ErrNoQuorum, or ctx's error and cause.
// With these two the hold reads all the same, but other readers may be kept out until a renewal
// has reached the masters, or Downgrade is called again. On a hold that reads it does only that.
func (l *Lock) Downgrade(ctx context.Context) error {
	if l.none() {
		return errNoLock
	}
	h, c := l.h, l.h.client
	c.check(ctx)
	if err := l.over(ctx); err != nil {
		return err
	}
	h.mu.Lock()
	if h.writers > 1 || h.writers == 1 && !l.writes {
		h.mu.Unlock()
		return ErrWriters
	}
	h.writers, l.writes = 0, false
	h.reading.Store(true)
	t := h.terms
	h.mu.Unlock()
	err := h.extendNow(ctx, opDowngrade, t)
	if h.unblocks() {
		c.queues.Unblock(h.name)
	}
	return err
}

// fencing is the token that the holder may write with.
func (h *hold) fencing() fence.Token {
	if h.reading.Load() {
		return 0
	}
	return h.token
}
