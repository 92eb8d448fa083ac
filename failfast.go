package redlock

import (
	"errors"
	"slices"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
)

// WithFailFast makes Lock, RLock, LockAll and Do return at once, and not wait until ctx
// ends, when time alone will not bring the lock. That is so
//   - when the masters belong to no deployment, or a majority of its members lost its data
//     (ErrNeedsInit);
//   - when so many masters refuse the client's password or rights (NOAUTH, WRONGPASS,
//     NOPERM), or are not admitted, that the others are no quorum. A server is not admitted if it is
//     none of the members, belongs to another deployment, or was given twice;
//   - when the client was given fewer of the members than a quorum.
//
// The error is that of the attempt: a *QuorumError with the votes. Somebody has to do something
// about it, and then the same call may succeed. Lock still waits, as without the option, for what may
// pass by itself: a lock that is held; masters that are down, slow, full, replicas at the moment, or
// new, suspended or coming back as members.
//
// If several callers of one Client wait for one name, each of them gets the error only when it
// is its turn to ask the masters. So give the option to New or Open rather than to single calls.
// Default: Lock waits, because an operator may mend it meanwhile.
func WithFailFast() LockOption {
	return lockOption(func(l *lockConfig) { l.failFast = true })
}

// lasting reports whether time alone will not mend why an attempt failed.
func lasting(err error) bool {
	if errors.Is(err, ErrNeedsInit) {
		return true
	}
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || q.Reason != ErrNoQuorum {
		return false
	}
	return q.without(lastingRefusal) < q.Need
}

// refusals are the words that begin a server's error when it refuses the client's
// password or rights.
var refusals = []string{"NOAUTH", "WRONGPASS", "NOPERM"}

func lastingRefusal(err error) bool {
	return errors.Is(err, membership.ErrNotAdmitted) || errors.Is(err, ErrDenied) ||
		slices.ContainsFunc(refusals, func(word string) bool { return master.HasPrefix(err, word) })
}
