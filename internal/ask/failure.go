package ask

import (
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/printable"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// The reasons why masters did not agree. The root package documents them.
var (
	ErrNotAcquired = errors.New("redlock: not acquired")
	ErrHeld        = errors.New("redlock: held by another")
	ErrNoQuorum    = errors.New("redlock: no quorum of masters")
	ErrNeedsInit   = errors.New("redlock: the masters belong to no deployment, or a majority of its members lost its data: see `redlock help init`")
)

// The operations that a Failure names.
const (
	OpAcquire     = "acquire"
	OpReenter     = "re-enter"
	OpExtend      = "extend"
	OpDowngrade   = "downgrade"
	OpRelease     = "release"
	OpForceUnlock = "force unlock"
	OpVerify      = "verify"
	OpReady       = "be ready"
)

// Failure describes why masters did not agree to something. The root package converts it to a
// *QuorumError.
type Failure struct {
	Op     string
	Name   string // of the lock; "" if the failure is about no lock
	Reason error
	Need   int           // how many masters had to agree
	Votes  []script.Vote // by master; nil if no master was asked
	Lacks  []string      // the members that are not among the client's masters

	// Undecided: the caller returned before the verdict. The votes are only for logs.
	Undecided bool

	// FreeIn is the shortest time until a quorum of masters can be free, if others hold the name.
	// It is zero if this time is not known.
	FreeIn time.Duration

	// Holder describes the holders, for logs. "": not known.
	Holder string
}

// Error is for logs of tests only.
func (f *Failure) Error() string { return fmt.Sprintf("%v (%s %q)", f.Reason, f.Op, f.Name) }

// Unwrap returns the reason, the masters' errors unless the Failure is Undecided, and
// ErrNotAcquired for an acquisition or a re-entry.
func (f *Failure) Unwrap() []error {
	errs := []error{f.Reason}
	if f.Op == OpAcquire || f.Op == OpReenter {
		errs = append(errs, ErrNotAcquired)
	}
	for _, v := range f.Votes {
		if v.Err != nil && !f.Undecided {
			errs = append(errs, v.Err)
		}
	}
	return errs
}

// FailureOf returns a Failure with a copy of these votes at a view.
func FailureOf(v *membership.View, op, name string, reason error, votes []script.Vote) *Failure {
	f := &Failure{Op: op, Name: name, Reason: reason, Need: quorum.MajorityOf(v).Need, Lacks: v.Lacks}
	f.Votes = append(f.Votes, votes...)
	return f
}

// NotGranted returns the error for votes without a quorum of grants.
func NotGranted(v *membership.View, op, name string, votes []script.Vote) error {
	q := quorum.MajorityOf(v)
	f := FailureOf(v, op, name, ErrNoQuorum, votes)
	if quorum.Disowned(votes, q) && op != OpAcquire {
		f.Reason = quorum.ErrLost
	} else if freeIn, yes := quorum.Contended(votes, q.Need); yes {
		f.Reason, f.FreeIn = ErrHeld, freeIn
	} else if v.NeedsInit {
		return printable.Join(f, ErrNeedsInit)
	}
	return f
}

// NotWaited returns the error of an acquisition or a re-entry whose caller returned early, for the
// reason in why. If no quorum was possible any more by then, the error also has the reason of the
// masters. Otherwise the Failure is Undecided.
func NotWaited(why error, v *membership.View, op, name string, votes []script.Vote) error {
	q := quorum.MajorityOf(v)
	if quorum.Decide(votes, q.Need) == quorum.Lost || op != OpAcquire && quorum.Disowned(votes, q) {
		return Left(why, NotGranted(v, op, name, votes))
	}
	f := FailureOf(v, op, name, why, votes)
	f.Undecided = true
	return f
}

// Left returns the error of an acquisition or a re-entry whose caller returned early after the
// masters had decided. It joins the caller's reason (why) and the error of the decision (decided).
func Left(why, decided error) error {
	if !errors.Is(why, ErrNotAcquired) {
		why = printable.Because(ErrNotAcquired, why)
	}
	return printable.Because(why, decided)
}
