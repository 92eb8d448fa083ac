package redlock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/script"
)

// The errors to test for with errors.Is. The error of a call wraps one or more of them,
// or is that of its context; *QuorumError and *OptionError have the details.
var (
	// ErrNotAcquired is returned when an acquisition failed. Another error beside it
	// says why: ErrHeld, ErrNoQuorum or ErrTooSlow; ErrClosed; the context's error and
	// cause; or, for a re-entry, why the call could not enter the hold again. Bad input
	// is ErrBadOption alone, because trying again would not help. If the context ended
	// while the masters were asked, that attempt is neither ErrNoQuorum nor ErrHeld: who
	// leaves before the answers does not know.
	ErrNotAcquired = errors.New("redlock: not acquired")

	// ErrHeld is returned when others hold the name, or when several contenders
	// split the votes: without these others, a quorum of masters could have granted
	// the lock. A master that had not answered when the result was certain counts as
	// one that could have granted it.
	ErrHeld = errors.New("redlock: held by another")

	// ErrNoQuorum is returned when not enough masters answered with a vote to reach
	// a decision. Some of them may have done what they were asked to do.
	ErrNoQuorum = errors.New("redlock: no quorum of masters")

	// ErrTooSlow is returned when a quorum granted, but so late that too little of
	// the lease was left. The grants are given back.
	ErrTooSlow = errors.New("redlock: too slow, too little of the lease was left")

	// ErrNotMember is returned (within ErrNoQuorum) when a master may not vote: because
	// it is none of the members of the deployment, is new among them, is suspended, or
	// lost its data; because it is a replica or may evict keys; or because it is the same
	// server as another.
	ErrNotMember = script.ErrNotMember

	// ErrDenied is returned (within ErrNoQuorum) when the user that the client logs in as
	// lacks a right on a master, or the master does not have a command. The error says which. If the other
	// masters are no quorum, Lock does not wait (ErrNeedsSetup). docs/PROTOCOL.md
	// has the ACL rule with all the rights that a client needs.
	ErrDenied = script.ErrDenied

	// ErrNeedsInit is returned (within ErrNoQuorum) when the masters belong to no
	// deployment: they are new, and `redlock init` (Client.Init) founds one. Or they were
	// emptied: then so many members lost their counters that the others cannot tell what
	// the counters were. An operator must decide what to do: see Client.Init and
	// Client.ForceInit.
	ErrNeedsInit = errors.New("redlock: the masters belong to no deployment, or a majority of its members lost its data: see `redlock help init`")

	// ErrNeedsSetup is returned (beside ErrNoQuorum) by a call that would wait, when time
	// alone does not mend why it got no lock. Somebody has to do something about it, and
	// then the same call may succeed. WithWaitForSetup lists the reasons.
	ErrNeedsSetup = errors.New("redlock: not waited for: the masters, the user's rights or the list of masters must be set right first")

	// ErrNotFounded is returned by Init when the masters cannot be founded as one
	// deployment, say because one is another's.
	ErrNotFounded = errors.New("redlock: not founded")

	// ErrChangeRefused is returned by ChangeMembers when the change is not made.
	ErrChangeRefused = errors.New("redlock: the members were not changed")

	// ErrLost is returned, and is the cause of a hold's context, when so many
	// masters said that the lock is not this owner's that the others are no quorum, or
	// no longer prove the lease.
	ErrLost = errors.New("redlock: lock lost")

	// ErrExpired is returned, and is the cause of a hold's context, when the lease
	// ran out, or MaxHold was reached, before the lock was released.
	ErrExpired = errors.New("redlock: lease expired")

	// ErrUpgrade is returned at once when a holder for reading asks for the same lock for
	// writing: two holders that both did so would wait for each other for ever. Unlock first.
	ErrUpgrade = errors.New("redlock: a lock that is held for reading cannot be locked for writing")

	// ErrReentry is returned at once when the context of a call already carries the lock that the
	// call asks for, and either the hold or the call has the option WithoutReentry.
	ErrReentry = errors.New("redlock: the context carries this lock already, and it is not to be entered again")

	// ErrWriters is returned by Downgrade when other handles of the hold were locked for
	// writing, and are not unlocked.
	ErrWriters = errors.New("redlock: other handles of the hold are for writing")

	// ErrReleased is returned when a handle that was unlocked is used again, and
	// is the cause of a hold's context after its last Unlock.
	ErrReleased = errors.New("redlock: already released")

	// ErrClosed is returned by every call on a closed Client, and is the cause of
	// the contexts of holds that Close ended.
	ErrClosed = master.ErrClosed

	// ErrBadOption is returned when an option, a name or a master cannot be used.
	// Nothing was sent to any master because of it.
	ErrBadOption = errors.New("redlock: bad option")
)

// errNoLock is what a nil *Lock returns.
var errNoLock = fmt.Errorf("%w: the *Lock is nil", ErrNotAcquired)

// Reasons of single votes, not exported: they never stand alone.
var (
	errNotAsked   = errors.New("not asked")
	errNotSent    = errors.New("not sent: caller gave up")
	errNoAnswer   = errors.New("no answer yet")
	errNotAwaited = errors.New("not needed: quorum already decided")
	errOvertaken  = errors.New("not needed: the members have changed")
)

// Vote is what one master said, for people to read; see Answer.
type Vote struct {
	Master    string        // its address
	Answer    Answer        // what it said
	Grant     uint64        // if Granted, to an acquisition: the grant number
	Remaining time.Duration // if Held: how long the other's lease still lasts, to the millisecond; 0: not known
	Err       error         // if Unknown or Refused: why; its text is printable, whatever the master wrote
}

// String returns the vote as errors print it.
func (v Vote) String() string {
	switch {
	case v.Answer == Held && v.Remaining > 0:
		return fmt.Sprintf("%s held, lease ends in %v", v.Master, printable.Duration(v.Remaining))
	case v.Err != nil:
		return fmt.Sprintf("%s %v: %v", v.Master, v.Answer, v.Err)
	}
	return fmt.Sprintf("%s %v", v.Master, v.Answer)
}

// QuorumError tells why masters did not agree to something. errors.Is finds
// Reason, the masters' own errors and, for an acquisition, ErrNotAcquired.
type QuorumError struct {
	Op     string // "acquire", "re-enter", "extend", "downgrade", "release", "force unlock", "verify", "inspect", "list the names", "learn the members" or "be ready"
	Name   string // of the lock; "" if it is about none
	Reason error  // ErrHeld, ErrNoQuorum, ErrTooSlow or ErrLost; or why the caller left before the masters had decided: its context's error and cause, or ErrClosed
	Need   int    // masters that had to agree
	Votes  []Vote // one for each master, in the order in which the masters were given; empty if none was asked

	// Lacks has the addresses of the members that are not among the client's
	// masters.
	Lacks []string

	// The caller left: the votes decide nothing, and are for people to read.
	undecided bool

	// FreeIn is set when others hold the name: the shortest time until a quorum of
	// masters can be free, if nobody releases or renews the name before then. Zero:
	// not known.
	FreeIn time.Duration
}

// Error names the lock, the reason and every vote.
func (e *QuorumError) Error() string {
	var b strings.Builder
	reason := e.Reason
	if e.undecided {
		reason = printable.Because(ErrNotAcquired, reason)
	}
	fmt.Fprintf(&b, "%v (%s", reason, e.Op)
	if e.Name != "" {
		fmt.Fprintf(&b, " %q", e.Name)
	}
	if e.FreeIn > 0 {
		fmt.Fprintf(&b, ", lease ends in %v unless renewed or released", printable.Duration(e.FreeIn))
	}
	switch n := len(e.Votes); {
	case n == 0:
	case n < e.Need:
		fmt.Fprintf(&b, ", need %d masters, given %d", e.Need, n)
	default:
		fmt.Fprintf(&b, ", need %d of %d", e.Need, n)
	}
	for i, v := range e.Votes {
		b.WriteString([]string{": ", "; "}[min(i, 1)] + v.String())
	}
	if len(e.Lacks) > 0 {
		fmt.Fprintf(&b, "; members that the client's masters lack: %s", strings.Join(e.Lacks, ", "))
	}
	b.WriteByte(')')
	return b.String()
}

// Unwrap returns the reason, ErrNotAcquired for an acquisition, and the
// masters' errors if they are why.
func (e *QuorumError) Unwrap() []error {
	errs := []error{e.Reason}
	if e.Op == opAcquire || e.Op == opReenter {
		errs = append(errs, ErrNotAcquired)
	}
	for _, v := range e.Votes {
		if v.Err != nil && !e.undecided {
			errs = append(errs, v.Err)
		}
	}
	return errs
}

// The operations that a QuorumError names.
const (
	opAcquire     = "acquire"
	opReenter     = "re-enter"
	opExtend      = "extend"
	opDowngrade   = "downgrade"
	opRelease     = "release"
	opForceUnlock = "force unlock"
	opVerify      = "verify"
	opInspect     = "inspect"
	opNames       = "list the names"
	opMembers     = "learn the members"
	opReady       = "be ready"
)

// OptionError tells which input was refused; errors.Is finds ErrBadOption.
type OptionError struct {
	Field string // "ttl", "masters[2]", …
	Value any    // what was given
	Rule  string // what would be right
}

// Error names the field, the value and the rule.
func (e *OptionError) Error() string {
	return fmt.Sprintf("redlock: invalid %s %v: %s", e.Field, e.Value, e.Rule)
}

// Is reports that every OptionError is an ErrBadOption.
func (e *OptionError) Is(target error) bool { return target == ErrBadOption }

// notGranted returns the error for votes that did not bring a grant.
func (c *Client) notGranted(v *membership.View, op, name string, votes []script.Vote) error {
	q := quorumOf(v)
	e := &QuorumError{Op: op, Name: name, Reason: ErrNoQuorum, Need: q.need, Votes: c.publish(votes), Lacks: v.Lacks}
	if disowned(votes, q) && op != opAcquire {
		e.Reason = ErrLost
	} else if freeIn, yes := contended(votes, q.need); yes {
		e.Reason, e.FreeIn = ErrHeld, freeIn
	} else if v.NeedsInit {
		return printable.Join(e, ErrNeedsInit)
	}
	return e
}

// notWaited returns the error for the votes of an acquisition or a re-entry whose caller left, which is why. A caller that leaves
// is no lack of a quorum: the votes count only if they had decided by then.
func (c *Client) notWaited(why error, v *membership.View, op, name string, votes []script.Vote) error {
	q := quorumOf(v)
	if decide(votes, q.need) == lost || op != opAcquire && disowned(votes, q) {
		return printable.Because(why, c.notGranted(v, op, name, votes))
	}
	return &QuorumError{Op: op, Name: name, Reason: why, Need: q.need, Votes: c.publish(votes), Lacks: v.Lacks, undecided: true}
}

// publish makes votes readable for the caller.
func (c *Client) publish(votes []script.Vote) []Vote {
	public := make([]Vote, len(votes))
	for i, v := range votes {
		public[i] = Vote{Master: c.masters[i].Name, Answer: Answer(v.Answer), Grant: uint64(v.Grant), Remaining: v.Remaining, Err: printable.Error(v.Err)}
	}
	return public
}
