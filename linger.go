package redlock

import (
	"errors"
	"fmt"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// HoldAtLeast makes the name stay taken until d has passed since the lock was acquired,
// also when it is unlocked before: several schedulers whose clocks differ do not all run a
// job that takes less time than their clocks differ by. ShedLock calls it lockAtLeastFor.
//
// Unlock does not wait for it: the work is over, and the lock's Context ends. On the masters
// the lock stays then, and nobody renews it. Nobody holds it either: it cannot be entered again, Verify
// says that it is stale, and TryLock is refused with ErrHeld, the holder's own as well. Who
// waits for the name gets it at most about a second after the end, as a rule at once.
//
// d is measured by this process's clock; for the masters' clocks the drift allowance is
// added. Of a lock that is entered again the longest d counts, from when it was acquired
// first. Close keeps to it like Unlock. A holder that dies frees the lock after its ttl all
// the same, which may be before d or after. So may one whose Unlock reaches no quorum of
// masters: its error tells, and the masters are told for as long as with any Unlock.
//
// RLock refuses it, and a lock that was downgraded frees the name at once.
//
// d must be positive, and with the drift allowance at most MaxTTL, because no master keeps
// a lock for longer. Default: Unlock frees the name at once.
func HoldAtLeast(d time.Duration) LockOption {
	return lockOption(func(l *lockConfig) {
		l.atLeast = d
		if d == 0 {
			l.atLeast = -1 // asked for, and refused by validate; unset is 0
		}
	})
}

func (c *config) validateAtLeast(d time.Duration) error {
	if d < 0 || d > maxDuration {
		return &OptionError{"hold at least", max(d, 0), fmt.Sprintf("it must be positive, and at most %v", maxDuration)}
	}
	return atLeastFits(d, c.maxTTL, c.drift)
}

// atLeastFits reports that masters may not keep a lock for so long after its Unlock.
func atLeastFits(d, maxTTL time.Duration, drift float64) error {
	const rounding = time.Millisecond
	most := (time.Duration(float64(maxTTL)*(1-drift)) - driftBase - rounding).Truncate(time.Millisecond)
	if d == 0 || d <= most {
		return nil
	}
	return &OptionError{"hold at least", d, fmt.Sprintf("it must be at most %v, which is the max ttl (%v) less the drift allowance", most, maxTTL)}
}

// lingerTTL is what a master's key must live for, to be there for so long by our clock. It
// errs on the long side.
func lingerTTL(left time.Duration, drift float64) time.Duration {
	ttl := time.Duration(float64(left+driftBase) / (1 - drift))
	return (ttl + time.Millisecond - 1).Truncate(time.Millisecond)
}

// lingers reports that the name is to stay taken when the hold is over.
func (h *hold) lingers() bool {
	return !h.reading.Load() && h.over() != ErrLost && h.client.now().Before(h.takenUntil())
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
func (h *hold) linger() *round {
	c := h.client
	r := newRound(c.members.View())
	requests := r.requests(len(h.masters))
	now := c.now()
	var absent [maxMasters]bool
	h.mu.Lock()
	for i, s := range h.masters {
		absent[i] = s.absent()
		requests[i] = master.Request{
			Order:  h.name,
			Call:   h.releaseCall(), // Prepare has another
			Policy: lingering{releaseOf{h}},
			To:     r,
			Until:  h.retryUntil(s.doubt || !s.heard, now),
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
		return l.releaseOf.Prepare(master, l.releaseCall(), resent)
	}
	mark := time.Duration(0)
	if resent || l.inDoubt(master) {
		mark = goneTTL
	}
	return l.lingerCall(lingerTTL(left, l.drift), mark)
}
