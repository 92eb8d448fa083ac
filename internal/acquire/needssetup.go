package acquire

import (
	"errors"
	"slices"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/masterurl"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/script"
)

// needsSetup reports whether a call must end because its failure lasts until an operator acts. It
// reports false for a call that waits nevertheless (WaitForSetup).
func (o *Options) needsSetup(err error) bool { return !o.WaitForSetup && lasting(err) }

// lasting reports whether the reason of a failed attempt stays until an operator acts.
func lasting(err error) bool {
	if errors.Is(err, ask.ErrNeedsInit) {
		return true
	}
	q, ok := errors.AsType[*ask.Failure](err)
	if !ok || q.Reason != ask.ErrNoQuorum {
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

// Each of the lastingWords is the beginning (after ERR) of an error that lasts: the server refuses
// the client's password or rights, or has no database with the number in the client's URL.
var lastingWords = []string{"NOAUTH", "WRONGPASS", "NOPERM", "DB index is out of range"}

func lastingRefusal(err error) bool {
	_, distrusted := errors.AsType[*masterurl.TLSError](err)
	return distrusted || errors.Is(err, membership.ErrNotAdmitted) || errors.Is(err, script.ErrDenied) ||
		slices.ContainsFunc(lastingWords, func(word string) bool { return master.HasPrefix(err, word) })
}
