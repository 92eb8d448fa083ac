package redlock

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/fence"
)

// An Observer has functions that a Client calls when something happens, for logs, metrics and
// traces. Every field may be nil; an Observer without functions costs nothing. The functions are
// called synchronously, from any goroutine and from several at once: they must return soon and must
// not call the Client or a Lock. A later version may add fields to their arguments.
//
// The functions must return: they must neither panic nor end their goroutine (runtime.Goexit, as
// t.FailNow does). If a function does so in the goroutine that called Lock or Unlock, for example,
// this call does not return to its caller either. Locks that the call acquired are given back, and
// Unlock unlocks all the same; but some events, such as Finished, are not reported. If Close calls
// such a function, Close still gives back all holds, and ends all goroutines and connections. A panic
// in one of the library's own goroutines, such as the one that renews a lock, ends the process,
// because nothing recovers it. A Goexit there leaves the Client without that goroutine.
//
// LogObserver returns an Observer that logs, and Observers combines several. docs/OBSERVING.md
// describes what to watch.
type Observer struct {
	// Started: a call of Lock, TryLock, RLock, TryRLock, LockAll or TryLockAll begins, also within
	// Do, DoRead or DoAll. A call with bad input is not reported. Started must return a context
	// derived from ctx. The other functions get that context for the events of this call and of its
	// holds. That context is not the parent of the holds' Context, and may have ended when the
	// functions get it.
	Started func(ctx context.Context, call LockCall) context.Context

	// AttemptFailed: an attempt to acquire a name (not to re-enter it) failed, or could not be made.
	// A call that waits reports each failed attempt.
	AttemptFailed func(ctx context.Context, attempt FailedAttempt)

	// Finished: a call for which Started was called is about to return.
	Finished func(ctx context.Context, result LockResult)

	// Acquired: an attempt to acquire a name (not to re-enter it) succeeded, and a hold begins.
	// LockAll reports each name that it gets, but may then give this name back and try again.
	Acquired func(ctx context.Context, acquisition Acquisition)

	// Renewed: the watchdog, Extend or Downgrade moved the end of the lease.
	Renewed func(ctx context.Context, renewal Renewal)

	// RenewalFailed: a renewal found no quorum, but the lock is not lost yet. The watchdog tries
	// again after a twelfth of the ttl. A master that hangs delays RenewalFailed by up to the
	// request timeout.
	RenewalFailed func(ctx context.Context, failure FailedRenewal)

	// Forgotten: the program did not unlock a handle of a hold, and has no reference to this handle
	// any more. So the hold lasts until its client is closed. The garbage collector detects this,
	// but only if the hold was renewed at least once.
	Forgotten func(ctx context.Context, hold ForgottenHold)

	// Ended: a hold is over. Ended is called once for each Acquired, and after Acquired.
	Ended func(ctx context.Context, end HoldEnd)

	// Unlocked: an Unlock returns, whether or not it ends the hold. ctx is the context given to Unlock.
	Unlocked func(ctx context.Context, result UnlockResult)

	// ClockJumped: a master's clock jumped between two renewals. The master's vote did not count in
	// the second renewal. A jump forward by more than the rest of the lease is not reported: then
	// the lock's key has expired on that master, and the next round writes the key back. If the key
	// expires on too many masters, RenewalFailed is called, or Ended with ErrLost.
	ClockJumped func(ctx context.Context, jump ClockJump)

	// MasterCalled: a master answered a batch of operations, or did not. A batch gathers the
	// operations of several callers, so MasterCalled gets no context.
	MasterCalled func(call MasterCall)

	// MasterDown: a master cannot be reached, may not vote, or refuses writes because of its state
	// (OOM, MISCONF, NOREPLICAS, READONLY, BUSY). Reported once for every run of failures.
	MasterDown func(master MasterStatus)

	// MasterUp: a master answered, for the first time or again. If the master had refused
	// writes, it has accepted a write since. (Until then, the client tries one each second.)
	MasterUp func(master MasterStatus)

	// NotAMember: a master may not vote in the deployment: it is not a member, is new or suspended,
	// or lost its data. Err has the reason. Reported once for each reason.
	NotAMember func(master MasterStatus)

	// MemberOut: a member that should vote has not voted for longer than the deployment's max ttl
	// plus a minute, so it is unlikely to come back by itself. Master is its address in the table of
	// members. Err gives the duration, the reason and the remedy. Each client that observed the
	// outage for that long reports it once; MemberChanged or MasterUp reports its end. Not
	// reported: a suspended member, and a member that is not among the client's masters.
	MemberOut func(member MasterStatus)

	// VersionLearned: the client uses this version of the table of members from now on.
	VersionLearned func(table TableVersion)

	// MemberChanged: a member has another state than in the previous version, or a server with another
	// id has taken the member's place. MemberChanged is called before VersionLearned.
	MemberChanged func(change MemberTransition)
}

// LockCall is a call that asks for a lock.
type LockCall struct {
	Names []string // in byte order; more than one only for LockAll and TryLockAll
	Set   bool     // LockAll or TryLockAll
	Reads bool     // RLock or TryRLock
	Waits bool     // the call may wait: Lock, RLock or LockAll, without WithWait(0)
	Slots int      // WithSlots; 0: none
}

// LockResult is the result of a call that asked for a lock.
type LockResult struct {
	LockCall
	Took     time.Duration // the whole call, with its wait
	Attempts int           // how often it asked the masters for a fresh acquisition; for a set, one attempt at several names counts once
	ReEntry  bool          // it re-entered a hold, or tried to
	Err      error         // the error that the call returns
}

// FailedAttempt is an attempt that did not acquire the lock.
type FailedAttempt struct {
	Name  string        // the name that it did not get; for a slot, the slot's name
	Reads bool          // for reading
	Set   bool          // the name is one of a set
	Waits bool          // whether the call tries again, if its wait is not over
	Took  time.Duration // 0 if the masters could not be asked
	Err   error         // a *QuorumError; or the context's error, if the caller returned before the masters had decided
}

// Hold identifies a hold: it has the same value in all events of that hold.
type Hold struct {
	Name  string      // as Lock.Name returns it: for a slot, the slot's name
	Slot  int         // Lock.Slot
	Token fence.Token // 0 if it was acquired for reading
	Reads bool        // it was acquired for reading; stays false after a Downgrade
	Set   bool        // the hold is one of a set
}

// Acquisition is the start of a hold.
type Acquisition struct {
	Hold
	Took  time.Duration // the attempt that succeeded, without the wait before it
	Votes []Vote        // one for each master, even if it has not answered yet
}

// Renewal is a lease that was renewed.
type Renewal struct {
	Hold
	ValidFor time.Duration // to the end of the lease
}

// FailedRenewal is a lease that was not renewed.
type FailedRenewal struct {
	Hold
	ValidFor time.Duration // to the end of the lease
	Err      error         // a *QuorumError
}

// ForgottenHold is a hold that no caller can unlock.
type ForgottenHold struct {
	Hold
	Held time.Duration // since it was acquired
}

// HoldEnd is the end of a hold.
type HoldEnd struct {
	Hold
	Held     time.Duration // since it was acquired; in a set, since all names were acquired
	Cause    error         // ErrReleased, ErrLost, ErrExpired or ErrClosed, as context.Cause of the hold's context
	TakenFor time.Duration // with WithHoldAtLeast: how long the name stays taken after the hold; 0: it is free
}

// UnlockResult is the result of an Unlock.
type UnlockResult struct {
	Names []string // more than one only for Locks
	Set   bool     // Locks.Unlock
	Reads bool     // the handle is of RLock or TryRLock
	Took  time.Duration
	Err   error // the error that Unlock returns
}

// MasterCall is one batch of operations on a master.
type MasterCall struct {
	Master     string        // its address
	Operations int           // in the batch
	Took       time.Duration // until all answers were there, or the batch failed
	Err        error         // why there are no answers; a refused operation in the batch is no error
}

// MasterStatus reports whether a master can be used.
type MasterStatus struct {
	Master string // its address
	Err    error  // why the master cannot be used; nil if it can
}

// TableVersion is a version of the table of members.
type TableVersion struct{ Version int }

// MemberTransition is the change of a member's state.
type MemberTransition struct {
	Address  string
	From, To string // "voting", "new" or "suspended", as in admin.MemberState; "": not a member
}

// Observers returns an Observer that calls all given observers, in their order. Each Started gets
// the context that the Started before it returned.
func Observers(all ...Observer) Observer {
	var both Observer
	for _, o := range all {
		both = both.and(o)
	}
	return both
}

func (o Observer) and(p Observer) Observer {
	return Observer{
		Started:        bothStarted(o.Started, p.Started),
		AttemptFailed:  bothIn(o.AttemptFailed, p.AttemptFailed),
		Finished:       bothIn(o.Finished, p.Finished),
		Acquired:       bothIn(o.Acquired, p.Acquired),
		Renewed:        bothIn(o.Renewed, p.Renewed),
		RenewalFailed:  bothIn(o.RenewalFailed, p.RenewalFailed),
		Forgotten:      bothIn(o.Forgotten, p.Forgotten),
		Ended:          bothIn(o.Ended, p.Ended),
		Unlocked:       bothIn(o.Unlocked, p.Unlocked),
		ClockJumped:    bothIn(o.ClockJumped, p.ClockJumped),
		MasterCalled:   both(o.MasterCalled, p.MasterCalled),
		MasterDown:     both(o.MasterDown, p.MasterDown),
		MasterUp:       both(o.MasterUp, p.MasterUp),
		NotAMember:     both(o.NotAMember, p.NotAMember),
		MemberOut:      both(o.MemberOut, p.MemberOut),
		VersionLearned: both(o.VersionLearned, p.VersionLearned),
		MemberChanged:  both(o.MemberChanged, p.MemberChanged),
	}
}

func bothStarted(f, g func(context.Context, LockCall) context.Context) func(context.Context, LockCall) context.Context {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(ctx context.Context, call LockCall) context.Context { return g(f(ctx, call), call) }
}

func bothIn[T any](f, g func(context.Context, T)) func(context.Context, T) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(ctx context.Context, event T) {
		f(ctx, event)
		g(ctx, event)
	}
}

func both[T any](f, g func(T)) func(T) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(event T) {
		f(event)
		g(event)
	}
}

// observer is an Observer without nil functions. Some events cost something to prepare. Each flag
// reports whether the program gave a function for such an event.
type observer struct {
	Observer
	calls   bool // a function with the context of a call
	handles bool // Forgotten
	unlocks bool // Unlocked
	batches bool // MasterCalled
}

func observerOf(o Observer) observer {
	calls := o.Started != nil || o.AttemptFailed != nil || o.Finished != nil || o.Acquired != nil || o.Renewed != nil ||
		o.RenewalFailed != nil || o.Forgotten != nil || o.Ended != nil || o.ClockJumped != nil
	all := observer{o, calls, o.Forgotten != nil, o.Unlocked != nil, o.MasterCalled != nil}
	all.ensureDefaults()
	return all
}

// ensureDefaults replaces nil functions by functions that do nothing.
func (o *Observer) ensureDefaults() {
	if o.Started == nil {
		o.Started = func(ctx context.Context, _ LockCall) context.Context { return ctx }
	}
	ignoreIn(&o.AttemptFailed)
	ignoreIn(&o.Finished)
	ignoreIn(&o.Acquired)
	ignoreIn(&o.Renewed)
	ignoreIn(&o.RenewalFailed)
	ignoreIn(&o.Forgotten)
	ignoreIn(&o.Ended)
	ignoreIn(&o.Unlocked)
	ignoreIn(&o.ClockJumped)
	ignore(&o.MasterCalled)
	ignore(&o.MasterDown)
	ignore(&o.MasterUp)
	ignore(&o.NotAMember)
	ignore(&o.MemberOut)
	ignore(&o.VersionLearned)
	ignore(&o.MemberChanged)
}

func ignoreIn[T any](f *func(context.Context, T)) {
	if *f == nil {
		*f = func(context.Context, T) {}
	}
}

func ignore[T any](f *func(T)) {
	if *f == nil {
		*f = func(T) {}
	}
}
