package redlock

import (
	"fmt"

	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/lease"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// The errors to test for with errors.Is. The error of a call wraps one or more of them, or the
// error of its context; *QuorumError and *OptionError have the details.
var (
	// ErrNotAcquired is returned when an acquisition failed. Another error beside it gives the
	// reason: ErrHeld, ErrNoQuorum or ErrTooSlow; ErrClosed; the context's error and cause; or, for
	// a re-entry, why the call could not enter the hold again. For bad input the error is ErrBadOption
	// alone, because trying again would not help. If the context ended while the masters were asked, the
	// error is neither ErrNoQuorum nor ErrHeld for that attempt: the masters had not decided.
	ErrNotAcquired = ask.ErrNotAcquired

	// ErrHeld is returned when others hold the name, or when several contenders split the votes: without these
	// others, a quorum of masters could have granted the lock. A master that had not answered when the result was
	// certain counts here as one that could have granted the lock. A call that waits behind another caller of the
	// same Client returns ErrHeld too. QuorumError.Holder names the holder, if it is known.
	ErrHeld = ask.ErrHeld

	// ErrNoQuorum is returned when not enough masters answered with a vote to reach a decision.
	// Some masters may have done what they were asked to do.
	ErrNoQuorum = ask.ErrNoQuorum

	// ErrTooSlow is returned when a quorum granted the lock, but too late: too little of the lease
	// was left. The grants are given back.
	ErrTooSlow = acquire.ErrTooSlow

	// ErrNotMember is returned (within ErrNoQuorum) when a master may not vote, because it is not a member of the
	// deployment, is a new or suspended member, lost its data, is a replica, can evict keys, or is the same server as
	// another master.
	ErrNotMember = script.ErrNotMember

	// ErrDenied is returned (within ErrNoQuorum) when the client's user lacks a right on a master, or the master
	// lacks a command that the library needs. The error names the right or the command. If the other masters are no
	// quorum, Lock does not wait (ErrNeedsSetup). docs/PROTOCOL.md has the ACL rule with all the rights that a client
	// needs.
	ErrDenied = script.ErrDenied

	// ErrNeedsInit is returned (within ErrNoQuorum) when the masters belong to no deployment: they
	// are new, and `redlock init` (admin.Init) founds one. Or they were emptied: so many members lost
	// their counters that the others cannot restore them. An operator must decide what to do: see
	// admin.Init and admin.ForceInit.
	ErrNeedsInit = ask.ErrNeedsInit

	// ErrNeedsSetup is returned (beside ErrNoQuorum) by a call that would wait, when waiting cannot
	// help: somebody has to change something first, and then the same call may succeed.
	// WithWaitForSetup lists the reasons.
	ErrNeedsSetup = acquire.ErrNeedsSetup

	// ErrLost is returned, and is the cause of a hold's context, when masters answered that this
	// owner does not hold the lock, and the other masters cannot prove the lease any more. (Either
	// they are no quorum, or their votes no longer count.)
	ErrLost = lease.ErrLost

	// ErrExpired is returned, and is the cause of a hold's context, when the lease ran out, or
	// MaxHold was reached, before the lock was released.
	ErrExpired = lease.ErrExpired

	// ErrUpgrade is returned at once when a holder for reading asks for the same lock for writing: two readers that
	// both waited to write would wait for each other for ever. Unlock first.
	ErrUpgrade = lease.ErrUpgrade

	// ErrReentry is returned at once when the context of a call already carries the lock that the
	// call asks for, and either the hold or the call has the option WithoutReentry.
	ErrReentry = lease.ErrReentry

	// ErrWriters is returned by Downgrade while other handles of the hold are locked for writing.
	ErrWriters = lease.ErrWriters

	// ErrReleased is returned when a handle is used after its Unlock, and is the cause of a hold's context after the
	// last Unlock of the hold.
	ErrReleased = lease.ErrReleased

	// ErrClosed is returned by every call on a closed Client, and is the cause of the contexts of the
	// holds that Close ended.
	ErrClosed = master.ErrClosed

	// ErrBadOption is returned when an option, a name or a master cannot be used. No operation was
	// sent to any master.
	ErrBadOption = acquire.ErrBadOption
)

// errNoLock is returned by the methods of a nil *Lock.
var errNoLock = fmt.Errorf("%w: the *Lock is nil", ErrNotAcquired)

// OptionError describes an input that was refused. errors.Is finds ErrBadOption in it.
type OptionError struct {
	Field string // "ttl", "masters[2]", …
	Value any    // the given value
	Rule  string // what the value must be
}

// Error names the field, the value and the rule.
func (e *OptionError) Error() string {
	return fmt.Sprintf("redlock: invalid %s %v: %s", e.Field, e.Value, e.Rule)
}

// Is reports true for ErrBadOption.
func (e *OptionError) Is(target error) bool { return target == ErrBadOption }
