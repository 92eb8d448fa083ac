package redlock

import (
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// HoldAtLeast keeps the name taken until d has passed since the lock was acquired, even if
// it is unlocked earlier. So schedulers whose clocks differ do not all run a job that
// takes less time than the clocks differ by. ShedLock calls it lockAtLeastFor.
//
// Unlock does not wait until then: the work is over, and the lock's Context ends. The lock stays on the
// masters, but nobody renews it and nobody holds it: it cannot be re-entered, Verify says that it is
// stale, and a TryLock is refused with ErrHeld, also one of the former holder. When the time is over, a
// waiter usually gets the name at once, and at most about a second later.
//
// d is measured by this process's clock; for the masters' clocks the drift allowance is
// added. If a lock is re-entered, the longest d counts, from when the lock was first
// acquired. Close does the same as Unlock. If the holder dies, the lock is free after its
// ttl all the same, which may be before or after d. That may also happen if Unlock reaches
// no quorum of masters: then Unlock returns an error, and keeps telling the masters in the
// background for as long as any Unlock does.
//
// RLock refuses it, and a lock that was downgraded frees the name at once.
//
// d must be positive, and with the drift allowance at most MaxTTL, because no master keeps
// a lock for longer. Default: Unlock frees the name at once.
func HoldAtLeast(d time.Duration) LockOption {
	return lockOption(func(l *lockConfig) { l.atLeast, l.atLeastGiven = d, true })
}

func (c *config) validateAtLeast(l lockConfig) error {
	if l.atLeastGiven && (l.atLeast <= 0 || l.atLeast > maxDuration) {
		return &OptionError{"hold at least", l.atLeast, fmt.Sprintf("must be positive, and at most %v", maxDuration)}
	}
	return atLeastFits(l.atLeast, c.maxTTL, c.drift)
}

// atLeastFits reports that masters may not keep a lock for so long after its Unlock.
func atLeastFits(d, maxTTL time.Duration, drift float64) error {
	most := quorum.LongestLinger(maxTTL, drift)
	if d == 0 || d <= most {
		return nil
	}
	return &OptionError{"hold at least", d, fmt.Sprintf("must be at most %v, which is the max ttl (%v) less the drift allowance", most, maxTTL)}
}

// lingers reports that the name is to stay taken when the hold is over.
func (h *hold) lingers() bool {
	return !h.Reads.Load() && h.Over() != ErrLost && h.client.now().Before(h.takenUntil())
}

// takenUntil is until when the name is to stay taken; 0 if not beyond the hold.
func (h *hold) takenUntil() clock.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.atLeast == 0 {
		return 0
	}
	return h.began.Add(h.atLeast)
}

var errNotHere = errors.New("not asked: the lock was not there")

// linger tells the masters that the hold is over, and that the name stays taken. What they
// answer counts as it is: a master that does not have the lock any more does not keep it.
func (h *hold) linger() *quorum.Round {
	c := h.client
	r := quorum.NewHeldRound(c.members.View())
	requests := r.Requests(len(h.lease.Masters))
	now := c.now()
	var absent [quorum.MaxMasters]bool
	h.mu.Lock()
	for i, s := range h.lease.Masters {
		absent[i] = s.Absent()
		requests[i] = master.Request{
			Order:  h.name,
			Call:   h.ReleaseCall(), // Prepare has another
			Policy: lingering{releaseOf{h}},
			To:     r,
			First:  s.Answered,
			Until:  h.retryUntil(s.MayArrive || !s.Answered, now),
		}
	}
	h.mu.Unlock()
	for i := range requests {
		if absent[i] {
			r.Answer(i, script.Vote{Heard: true, Answer: script.Refused, Err: errNotHere})
			continue
		}
		c.masters[i].Submit(&requests[i])
	}
	return r
}

// lingering is the policy of the requests of linger.
type lingering struct{ releaseOf }

// Prepare makes the lock stay for what is left when the request leaves, or frees it if that
// is nothing any more.
func (l lingering) Prepare(master int, _ script.Call, resent bool) script.Call {
	left := l.takenUntil().Sub(l.client.now())
	if left <= 0 {
		return l.releaseOf.Prepare(master, l.ReleaseCall(), resent)
	}
	mark := time.Duration(0)
	if resent || l.inDoubt(master) {
		mark = goneTTL
	}
	most := l.client.members.View().Table.MaxLease() // whatever was checked before, as for each lease: see termsAt
	return l.LingerCall(min(quorum.LingerTTL(left, l.drift), most), mark)
}
