package lease

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// lingers reports whether the name is to stay taken after the hold.
func (h *Hold) lingers() bool {
	until := h.takenUntil()
	return until != 0 && !h.Reads.Load() && h.holds.Now().Before(until)
}

// takenUntil returns the time until which the name is to stay taken, or 0 if the name may be free after the hold, or
// others may have it.
func (h *Hold) takenUntil() clock.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.taken == 0 || h.over.cause == ErrLost && (h.set == nil || h.lease.Disowned()) {
		return 0
	}
	return h.began.Add(h.taken)
}

// TakenFor returns how much longer the name stays taken after the end of the hold, or 0 if it does not stay taken.
func (h *Hold) TakenFor() time.Duration {
	if !h.lingers() {
		return 0
	}
	return h.takenUntil().Sub(h.holds.Now())
}

var errNotHere = errors.New("not asked: the lock was not there")

// linger asks the masters to end the hold, and to keep the name taken. Unlike in a release, the
// answer "not yours" never counts as a grant: a master that lost the lock does not keep the name
// taken.
func (h *Hold) linger() *quorum.Round {
	r := quorum.NewHeldRound(h.holds.View())
	a := &asker{hold: h, want: want{aim: toLinger, until: h.takenUntil()}, plain: h.ReleaseCall()}
	requests := r.Requests(len(h.lease.Masters))
	now := h.holds.Now()
	h.mu.Lock()
	for i := range requests {
		requests[i] = a.request(i, r, now)
	}
	h.mu.Unlock()
	for i := range requests {
		if a.Obsolete(i, true) {
			r.Answer(i, script.Vote{Answered: true, Answer: script.Refused, Err: errNotHere})
			continue
		}
		h.holds.Masters[i].Submit(&requests[i])
	}
	return r
}

// lingerCall returns the call that keeps the name taken until the given time. Send it at once: its ttl counts from now.
func (h *Hold) lingerCall(until clock.Instant, mark time.Duration) script.Call {
	most := h.holds.View().Table.MaxLease() // as in termsAt: after that time, a server that replaces a member may vote
	return h.LingerCall(min(quorum.LingerTTL(until.Sub(h.holds.Now()), h.Config.Drift), most), mark)
}
