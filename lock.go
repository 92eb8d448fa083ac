package redlock

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/unwind"
)

// Lock is a handle on a held lock: one for every successful TryLock or Lock. Its methods may be
// called from several goroutines.
//
// Do not assume that the lock is held until Unlock. The lease runs out earlier if no
// quorum of masters can be reached to renew it, or if this process does not run for a while. Work
// under the lock must stop when Context ends, and stores must refuse writes with a Token older than
// one they have seen.
//
// A failed acquisition returns a nil *Lock. The methods of a nil *Lock do nothing: they return an
// error that is ErrNotAcquired, or the zero value.
type Lock struct {
	_      noCopy
	client *Client
	h      *lease.Hold
	entry  *lease.Entry // the handle's entry into h
	reads  bool         // the handle was locked for reading
}

// noCopy makes go vet report a copied Lock: an Unlock of the original would not mark the copy as
// unlocked.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// lockOf returns a handle on entry, or nil for a nil entry.
func (c *Client) lockOf(entry *lease.Entry, reads bool) *Lock {
	if entry == nil {
		return nil
	}
	l := &Lock{client: c, h: entry.Hold(), entry: entry, reads: reads}
	if c.observer.handles {
		entry.WatchHandle((*lockHandle)(l))
	}
	return l
}

// lockHandle and locksHandle implement lease.Handle for Lock and Locks.
type (
	lockHandle  Lock
	locksHandle Locks
)

func (l *lockHandle) Watch(e *lease.Entry)  { runtime.AddCleanup(l, (*lease.Entry).Forgotten, e) }
func (s *locksHandle) Watch(e *lease.Entry) { runtime.AddCleanup(s, (*lease.Entry).Forgotten, e) }

// none reports whether l is nil or was not made by a Client.
func (l *Lock) none() bool { return l == nil || l.h == nil }

func (l *Lock) holds() []*lease.Hold { return []*lease.Hold{l.h} }

// String returns the name and the token, for logs.
func (l *Lock) String() string {
	if l.none() {
		return "no lock"
	}
	if l.h.Reads.Load() {
		return fmt.Sprintf("lock %q, for reading", l.h.Name)
	}
	return fmt.Sprintf("lock %q, token %v", l.h.Name, l.h.Token)
}

// Name returns the name that was locked.
func (l *Lock) Name() string {
	if l.none() {
		return ""
	}
	return l.h.Name
}

// Context returns a context, derived from the context given to Lock, that ends when the hold can no
// longer be proved. It ends at the end of the lease by this process's own clock, even if the
// network fails: then its cause (context.Cause) is ErrExpired. It ends earlier, with ErrLost, if
// masters answer that this owner does not hold the lock, and the other masters are no quorum. After
// the last Unlock the cause is ErrReleased, and after Close ErrClosed.
//
// The context also ends when the context given to Lock ends, and with the same cause, although the hold may go on. The
// contexts of other handles of the hold go on too, unless they derive from this context. The Context of a re-entry also
// ends with the Unlock of its handle. The Context of the first handle lasts until the last Unlock, because the contexts
// of re-entries mostly derive from it.
//
// A Lock or TryLock of the same name with a context derived from this context re-enters the
// lock. Goroutines that share the context share the hold.
//
// Not promised: that code notices in time that the context has ended. A request sent before the end
// may arrive at a store after the end; only a store that compares tokens can refuse it.
func (l *Lock) Context() context.Context {
	if l.none() {
		return nil
	}
	return l.entry.Context()
}

// Until returns when the lease ends if nothing renews it. If the hold ended earlier, Until returns
// when it ended. Until is meant for logs: to decide, use Valid.
func (l *Lock) Until() time.Time {
	if l.none() {
		return time.Time{}
	}
	return l.client.timeOf(l.h.Until())
}

// timeOf converts i to wall clock time, for logs.
func (c *Client) timeOf(i clock.Instant) time.Time { return time.Now().Add(i.Sub(c.now())) }

// Valid reads the clock and reports whether the hold can be proved at this moment. By the time the
// caller acts on the answer, it may no longer be true.
func (l *Lock) Valid() bool { return !l.none() && !l.entry.Unlocked() && l.h.Valid() }

// Extend makes the lease last at least ttl from now, on a quorum of masters; the watchdog renews
// with this ttl from then on. Extend never shortens a lease, and never makes a hold longer than
// WithMaxHold. ttl follows the rules of WithTTL.
//
// Errors: ErrReleased, ErrExpired or ErrLost if the hold is over; Extend does not bring the hold back. After a
// *QuorumError with ErrNoQuorum, or ctx's error and cause, the watchdog's ttl is as before, but the lease may be longer.
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	if l.none() {
		return errNoLock
	}
	c := l.client
	c.check(ctx)
	ttl, err := c.mayExtend(l.h, ttl)
	if err != nil {
		return err
	}
	if err := l.over(ctx); err != nil {
		return err
	}
	return c.extendNow(ctx, l.h, ask.OpExtend, ttl)
}

// over returns why no extension may be sent: the handle is unlocked, ctx has ended, or the hold is
// over. It returns nil if an extension may be sent.
func (l *Lock) over(ctx context.Context) error {
	switch {
	case l.entry.Unlocked():
		return ErrReleased
	case ctx.Err() != nil:
		return printable.ContextError(ctx)
	case !l.h.Valid():
		return l.h.End(ErrExpired)
	}
	return nil
}

// extendNow sends the masters an extension of the lease, and waits until a quorum of them has made it.
func (c *Client) extendNow(ctx context.Context, h *lease.Hold, op string, ttl time.Duration) error {
	deadline := c.asker.Deadline()
	return c.public(c.asker.WhileMembersChange(ctx, deadline, func(v *membership.View) error {
		return c.awaitExtended(ctx, h, op, h.Extend(v, ttl), ttl, deadline)
	}))
}

// mayExtend returns ttl truncated to milliseconds, or an error if the settings do not allow it.
func (c *Client) mayExtend(h *lease.Hold, ttl time.Duration) (time.Duration, error) {
	o, err := c.resolve(c.members.View(), nil, acquire.Options{Config: lease.Config{TTL: ttl, Delay: h.Config.Delay}, Given: acquire.Given{TTL: true}})
	return o.TTL, err
}

// awaitExtended waits until a round of extends is decided. It returns nil if a quorum extended the lease.
func (c *Client) awaitExtended(ctx context.Context, h *lease.Hold, op string, r *quorum.Round, ttl time.Duration, deadline clock.Instant) error {
	if err := c.asker.Await(ctx, r, deadline); err != nil {
		return err
	}
	votes := r.Votes()
	if quorum.Decide(votes, r.Need) == quorum.Won {
		return h.Extended(r.View, ttl)
	}
	if ended := h.OverBy(votes, r.Majority); ended != nil {
		return ended
	}
	return ask.NotGranted(r.View, op, h.Name, votes)
}

// Unlock gives back this handle. The handles of one hold may be unlocked in any order, and the last
// Unlock frees the lock; the others return at once, without a request. (With WithHoldAtLeast the
// masters may keep the name taken for a while; that counts as freed here.) The last Unlock returns
// once a quorum of masters has freed the lock, or after the request timeout. After that, in the
// background, the client repeats its request to the masters that did not answer, for as long as the
// lease could have lasted. The end of ctx does not stop Unlock, because Unlock is mostly deferred and
// ctx has often ended by then.
//
// Errors: ErrReleased on a second call; ErrExpired or ErrLost if the hold was over before, so that
// others may have held the lock while this handle seemed to hold it; a *QuorumError with
// ErrNoQuorum if not enough masters answered (for this client the hold is over all the same).
func (l *Lock) Unlock(ctx context.Context) error {
	if l.none() {
		return errNoLock
	}
	if c := l.client; c.observer.unlocks {
		return c.notifyUnlock(ctx, l.unlock, UnlockResult{Names: []string{l.h.Name}, Reads: l.reads})
	}
	return l.unlock()
}

func (l *Lock) unlock() error {
	first, writes := l.entry.Unlock()
	if !first {
		return ErrReleased
	}
	var err error
	unwind.OrElse(func() { err = l.exit(writes) }, l.h.ReleaseAnyway)
	return err
}

// exit removes the entry. If it was the last entry, exit waits until a quorum of masters has freed the lock.
func (l *Lock) exit(writes bool) error {
	c := l.client
	freed, ended := c.unlocking(func() (*quorum.Round, error) { return l.entry.Exit(writes) })
	if ended != nil || freed == nil {
		return ended // if the hold was over, another owner may have the lock by now
	}
	return c.public(c.asker.AwaitFreed(freed, l.h.Name, c.asker.Deadline()))
}

// discard unlocks a handle that was not returned to the caller, and does not wait for the masters.
func (l *Lock) discard() {
	if !l.none() {
		l.entry.Discard()
	}
}
