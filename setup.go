package redlock

import (
	"errors"
	"slices"

	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/membership"
)

// WithWaitForSetup makes Lock, RLock, LockAll and Do wait also for what somebody has to set up first.
// Give it to programs that start before their masters are founded. By default these calls return at once,
// with ErrNeedsSetup beside the attempt's error, when time alone will not bring the lock. That is so
//   - when the masters belong to no deployment, or a majority of its members lost its data
//     (ErrNeedsInit);
//   - when so many masters refuse the client's password or rights (NOAUTH, WRONGPASS, ErrDenied),
//     do not have the database of their URL, do not trust its certificate or are not trusted, or are
//     not admitted, that the others are no quorum. A server is not admitted if it is none of the members, belongs to another deployment,
//     or was given twice;
//   - when the client was given fewer of the members than a quorum.
//
// They always wait for what may pass by itself: a lock that is held; masters that are down, slow,
// full, replicas at the moment, or new, suspended or coming back as members.
//
// If several callers of one Client wait for one name, each of them gets the error only when it
// is its turn to ask the masters.
func WithWaitForSetup() LockOption {
	return lockOption(func(l *lockConfig) { l.waitForSetup = true })
}

// needsSetup reports whether time alone will not mend why an attempt failed, and the call is not to wait all the same.
func (l *lockConfig) needsSetup(err error) bool { return !l.waitForSetup && lasting(err) }

// lasting reports whether time alone will not mend why an attempt failed.
func lasting(err error) bool {
	if errors.Is(err, ErrNeedsInit) {
		return true
	}
	q, ok := errors.AsType[*QuorumError](err)
	if !ok || q.Reason != ErrNoQuorum {
		return false
	}
	left := 0
	for _, v := range q.Votes {
		if !lastingRefusal(v.Err) {
			left++
		}
	}
	return left < q.Need
}

// refusals are the words that begin a server's error, behind ERR, when it refuses the client's
// password or rights, or has no database of the number that the client was given.
var refusals = []string{"NOAUTH", "WRONGPASS", "NOPERM", "DB index is out of range"}

func lastingRefusal(err error) bool {
	_, distrusted := errors.AsType[*masterurl.TLSError](err)
	return distrusted || errors.Is(err, membership.ErrNotAdmitted) || errors.Is(err, ErrDenied) ||
		slices.ContainsFunc(refusals, func(word string) bool { return master.HasPrefix(err, word) })
}
