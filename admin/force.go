package admin

import (
	"cmp"
	"context"
	"slices"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/acquire"
	"github.com/redlock-go/redlock/internal/core"
)

// ForceUnlock takes a lock from the holder that an inspection shows. In the same step it acquires the lock, with
// a higher token, so that no other client can acquire it in between. It then releases the lock to the next waiter, and
// returns the token of its own acquisition. That token is above the token of each holder that lost the
// lock, and below the token of the next holder.
//
// It takes the lock from the acquisitions that shown.Quorum names: the holder, or the readers, or the holder that
// left the lock to linger. If the state is LockUnknown, it takes the lock from every acquisition in shown.Masters,
// because one of these acquisitions may hold the lock, with grants of masters that do not answer. It takes the lock
// from nobody else: a holder that acquired the lock after the inspection keeps it. If the inspection shows no
// acquisition, it only acquires and releases the lock.
//
// The holder is not notified. Its next renewal fails, and ends the hold with redlock.ErrLost. If the holder does not
// renew, or reaches no quorum, its hold ends with its lease. Until its hold ends, Lock.Valid is true for this holder
// and it works on, while the next holder works too. So after ForceUnlock only the token protects the data: stores
// must refuse lower tokens. A store can refuse them only once it has seen a higher token, so give it the token that
// ForceUnlock returns. A reader has no token, and no store refuses its reads.
//
// The holder cannot get the lock back: on each master that answered, its requests are refused for
// longer than its lease can last. ForceUnlock takes at most the request timeout to take the lock,
// and at most as long again to release it.
//
// Errors: bad input; ctx's error and cause; redlock.ErrClosed. A *redlock.QuorumError with Op "force unlock" means
// that too few masters answered: the shown holder may still hold the lock, on some masters or on all, and renew it.
// On masters where the lock was taken, others may acquire it meanwhile. So only the token protects the data until a
// ForceUnlock succeeds or the shown holder's hold ends. A *redlock.QuorumError with another Op means that the shown
// holders no longer hold the lock, but that no token is known to be above theirs. If the error is also
// redlock.ErrHeld, another holder has the lock, with a token above theirs. A token together with an error means that
// the release did not reach a quorum.
func ForceUnlock(ctx context.Context, client *redlock.Client, shown Inspection) (fence.Token, error) {
	c := redlock.Inside(core.Key{}).Client(ctx, client)
	if err := c.CheckName(shown.Name); err != nil {
		return 0, err
	}
	leave, err := c.Enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	return c.ForceUnlock(ctx, shown.Name, shown.taken())
}

// taken returns the acquisitions that ForceUnlock takes the lock from.
func (in Inspection) taken() []acquire.Acquisition {
	views := []LockView{in.Quorum}
	if in.Quorum.State == LockUnknown {
		for _, m := range in.Masters {
			views = append(views, m.LockView)
		}
	}
	var all []acquire.Acquisition
	for _, v := range views {
		if v.Owner != "" {
			all = append(all, acquire.Acquisition{Owner: v.Owner, Stored: v.Owner}, acquire.Acquisition{Owner: v.Owner, Stored: "- " + v.Owner}) // the lock may linger by now
		}
		for _, r := range v.Readers {
			all = append(all, acquire.Acquisition{Owner: r.Owner, Stored: r.Owner})
		}
	}
	slices.SortFunc(all, func(a, b acquire.Acquisition) int { return cmp.Compare(a.Stored, b.Stored) })
	return slices.Compact(all)
}
