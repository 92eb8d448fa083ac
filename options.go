package redlock

import (
	"time"

	"github.com/redlock-go/redlock/internal/acquire"
)

// Option is a setting of a Client, given to New or Open.
type Option interface{ applyClient(*config) }

// LockOption is a setting of one acquisition, given to TryLock, Lock or Do. A LockOption that is
// given to New or Open is the default for all acquisitions of that client.
type LockOption interface {
	Option
	applyLock(*acquire.Options)
}

type clientOption func(*config)

func (o clientOption) applyClient(c *config) { o(c) }

type lockOption func(*acquire.Options)

func (o lockOption) applyClient(c *config)           { o(&c.defaults) }
func (o lockOption) applyLock(call *acquire.Options) { o(call) }

// WithoutWatchdog makes a fixed lease: no watchdog renews it, and it ends one ttl after the
// acquisition or the last Extend. By default a watchdog renews every lease when a third of its ttl
// has passed, again and again, for as long as the lock is held.
func WithoutWatchdog() LockOption {
	return lockOption(func(o *acquire.Options) { o.Watchdog = false })
}

// WithContextRenewal makes the watchdog renew the lease only as long as the context that was given
// to Lock has not ended. Use it in request handlers: otherwise a handler that returns without
// Unlock blocks the name for as long as the process lives.
//
// When that context ends, Lock.Context ends with the same cause, as always, and no further renewal
// begins. Without an Unlock, the hold is over at the end of the lease (Until), with ErrExpired, and
// the masters free the name within the ttl plus lock delay. An Unlock before the end of the lease
// frees the name at once; a later Unlock returns ErrExpired. Each call of Extend renews the lease once.
//
// The option belongs to a handle, not to the hold: a re-entry without the option, or with a context
// that lives on (context.WithoutCancel), keeps the renewal going until the handle of the re-entry
// is unlocked. If the option is given to LockAll, it is for all names. It changes nothing for a
// lease WithoutWatchdog.
//
// With a context that never ends, the renewal never ends: see WithMaxHold.
func WithContextRenewal() LockOption {
	return lockOption(func(o *acquire.Options) { o.WithCtx = true })
}

// WithMaxHold bounds how long a hold may last, renewals and re-entries included: at the bound the
// hold's context ends with ErrExpired, and the masters free the lock within the ttl plus lock delay.
// Default: no bound, so that a holder which forgets Unlock keeps the lock for as long as its process
// lives.
func WithMaxHold(d time.Duration) LockOption {
	return lockOption(func(o *acquire.Options) { o.MaxHold, o.Given.MaxHold = d, true })
}

// WithLockDelay makes the masters keep the lock for d, truncated to milliseconds, after the lease
// of its holder has ended. So a holder that lost the lock has time to stop its work before anyone
// else gets the lock. Unlock still frees the lock at once. Default 0. Consul's name for this is lock-delay.
func WithLockDelay(d time.Duration) LockOption {
	return lockOption(func(o *acquire.Options) { o.Delay = d })
}

// WithWait bounds how long Lock and Do wait for the lock. Unlike a deadline of ctx, WithWait does
// not end the lock's Context later. When d has passed, Lock returns an error that names d, joined
// with the error of the last attempt. In this error errors.Is finds context.DeadlineExceeded, as
// for a deadline of ctx, although no context has ended. An attempt that is under way when d has
// passed goes on, for up to the request timeout. With d at or below 0, Lock and Do make one
// attempt, like TryLock. Default: no bound except the end of ctx.
func WithWait(d time.Duration) LockOption {
	return lockOption(func(o *acquire.Options) { o.Wait = max(d, 0) })
}

// WithFair gives the lock to waiting clients in the strict order of their tickets, as long as a
// quorum of masters can be reached. Without WithFair, a client that has the lock may serve several
// of its own callers in a row, for at most 10 ms.
//
// Every client that waits has a ticket. A ticket is the median of the times of a quorum of masters,
// so it depends on no client's clock and on no single master's clock. (With three masters, this is
// true once all of them have answered this client. With one or two masters, the ticket depends on
// each master's clock.) Callers of one client are served in the order in which they called, and the
// first of them holds the client's ticket. A waiter whose connection is gone is passed over at
// once. A waiter to which the masters send a notice, but which does not ask for the lock, is passed
// over within 1.2 s; if this waiter is alive, it keeps its ticket.
//
// Not promised: an order against callers without WithFair; an order of tickets that were taken less
// than one message delay apart; the lock for a client that cannot subscribe to a quorum of masters
// while others can.
func WithFair() LockOption {
	return lockOption(func(o *acquire.Options) { o.Fair = true })
}

// WithWaitForSetup makes Lock, RLock, LockAll and Do wait even while the masters need setup. Use
// it in programs that start before their masters are founded. By default these calls return at
// once, with ErrNeedsSetup beside the attempt's error, when waiting cannot help:
//   - when the masters belong to no deployment, or a majority of its members lost its data
//     (ErrNeedsInit);
//   - when so many masters have one of these faults that the others are no quorum: the password or
//     rights are refused (NOAUTH, WRONGPASS, ErrDenied); there is no such database; one side does
//     not trust the other's certificate; the server is no member, is a member of another
//     deployment, or was given twice;
//   - when the client's masters include fewer members than a quorum.
//
// The calls always wait for conditions that may pass without setup: a lock that is held; masters
// that are down, slow, full, replicas at the moment, or new, suspended or coming back as members.
//
// If several callers of one Client wait for one name, each caller gets ErrNeedsSetup only when that
// caller becomes the first of them, and asks the masters.
func WithWaitForSetup() LockOption {
	return lockOption(func(o *acquire.Options) { o.WaitForSetup = true })
}

// WithoutReentry forbids re-entry: a Lock, TryLock or Do of the name, with a context derived from
// the hold's Context, is refused at once, with ErrReentry. (With a mutex, the caller would wait for
// itself.) It is enough that either the hold or the new call has the option. Use the option where
// entering twice is a mistake: for example, a callee locks the same name by chance, and does not
// expect that its caller holds the lock already. Default: such a call re-enters the lock.
//
// A call whose context carries no lock of the name waits as always, also in the same goroutine.
func WithoutReentry() LockOption {
	return lockOption(func(o *acquire.Options) { o.NoReentry = true })
}

// WithRequestTimeout sets how long one master may take over one request; after that the master's
// vote is unknown. Default 500 ms; at least 1 ms and below every ttl.
func WithRequestTimeout(d time.Duration) Option {
	return clientOption(func(c *config) { c.requestTimeout = d })
}

// WithPrefix sets the prefix of every key; a colon follows it. All clients that contend for the
// same locks must use the same prefix. It must not be empty or contain a brace. Default "redlock".
func WithPrefix(prefix string) Option {
	return clientOption(func(c *config) { c.prefix = prefix })
}

// WithName sets the name that admin.Inspect shows for this client, beside the client's host and
// process: for example, the name of the program, or an address at which the program can be reached.
// Default none; at most 256 bytes. See SetName.
func WithName(name string) Option {
	return clientOption(func(c *config) { c.name = name })
}

// WithObserver sets the functions that the client calls when something happens; see Observer. If
// the option is given twice, the last one counts: use Observers to combine several.
func WithObserver(o Observer) Option {
	return clientOption(func(c *config) { c.observer = observerOf(o) })
}
