package lease

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// lingers reports that the name is to stay taken when the hold is over.
func (h *Hold) lingers() bool {
	until := h.takenUntil()
	return until != 0 && !h.Reads.Load() && h.Over() != ErrLost && h.holds.Now().Before(until)
}

// takenUntil is until when the name is to stay taken; 0 if not beyond the hold.
func (h *Hold) takenUntil() clock.Instant {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.atLeast == 0 {
		return 0
	}
	return h.began.Add(h.atLeast)
}

// TakenFor is for how long the name of a hold that is over stays taken; 0: it does not.
func (h *Hold) TakenFor() time.Duration {
	if !h.lingers() {
		return 0
	}
	return h.takenUntil().Sub(h.holds.Now())
}

var errNotHere = errors.New("not asked: the lock was not there")

// linger tells the masters that the hold is over, and that the name stays taken. An answer "not
// yours" is no yes, as it is for a release: a master that does not have the lock any more does not
// keep it.
func (h *Hold) linger() *quorum.Round {
	r := quorum.NewHeldRound(h.holds.View())
	requests := r.Requests(len(h.lease.Masters))
	now := h.holds.Now()
	var absent [quorum.MaxMasters]bool
	h.mu.Lock()
	for i, s := range h.lease.Masters {
		absent[i] = s.Absent()
		requests[i] = master.Request{
			Order:  h.Name,
			Call:   h.ReleaseCall(), // Prepare has another
			Policy: lingering{releaseOf{h}},
			To:     r,
			First:  s.Answered,
			Until:  h.retryUntil(s.MayCome(now) || !s.Answered, now),
		}
	}
	h.mu.Unlock()
	for i := range requests {
		if absent[i] {
			r.Answer(i, script.Vote{Answered: true, Answer: script.Refused, Err: errNotHere})
			continue
		}
		h.holds.Masters[i].Submit(&requests[i])
	}
	return r
}

// lingering is the policy of the requests of linger.
type lingering struct{ releaseOf }

// Prepare makes the lock stay for what is left when the request leaves, or frees it if that is
// nothing any more.
func (l lingering) Prepare(master int, _ script.Call, resent bool) script.Call {
	left := l.takenUntil().Sub(l.holds.Now())
	if left <= 0 {
		return l.releaseOf.Prepare(master, l.ReleaseCall(), resent)
	}
	mark := time.Duration(0)
	if resent || l.MayCome(master) {
		mark = GoneTTL
	}
	most := l.holds.View().Table.MaxLease() // whatever was checked before, as for each lease: see termsAt
	return l.LingerCall(min(quorum.LingerTTL(left, l.drift), most), mark)
}
