package lease

import (
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// GoneTTL is how long a gone mark lasts. The network may delay a request of the owner for so long,
// although the client stops waiting for the answer after the request timeout.
const GoneTTL = 30 * time.Second

// retryUntil returns the time until which a release that starts now is worth sending: as long as
// the masters may have the lock. With mayArrive, the master may still execute an acquire, for
// example when it resumes after a freeze. Then the release is worth sending for GoneTTL longer,
// because the master needs the gone mark. The caller holds mu.
func (h *Hold) retryUntil(mayArrive bool, now clock.Instant) clock.Instant {
	until := now.Add(h.longest)
	if mayArrive {
		until = until.Add(GoneTTL)
	}
	return until
}

// release is a round that asks the masters to free the name.
type release struct {
	quorum.Round
	asker

	mu     sync.Mutex
	states []releaseState // by master; nil: the rule "freed everywhere" does not apply
	room   [quorum.Few]releaseState
}

// releaseState is the state of a master that is asked to free a name.
type releaseState struct {
	member  bool
	mayHave bool // it has the hold, or may have it
	granted bool // it has the hold: if the first release does not find the hold there, the master lost it
	seen    bool // it answered, or no answer will come
	freed   bool // it answered that it has freed the hold, or does not have it
}

// freed implements the rule "freed everywhere" of docs/PROTOCOL.md. A release succeeds without a quorum of votes if a
// quorum of the members, and each master that may have had the hold, reply that they do not have it.
func freed(states []releaseState, need int) quorum.Verdict {
	members, pending, left := 0, false, false
	for _, s := range states {
		left = left || s.mayHave && !s.freed
		pending = pending || !s.seen
		if s.member && s.freed {
			members++
		}
	}
	switch {
	case !left && members >= need:
		return quorum.Won
	case pending:
		return quorum.Undecided
	}
	return quorum.Lost
}

// note records a master's answer, even if the master has no vote.
func (r *release) note(master int, v script.Vote) {
	if r.states == nil || !v.Answered {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.states[master]
	s.seen, s.freed = true, v.Answer == script.Granted || v.NotMine() && (!s.granted || v.MayArrive)
}

// Decide returns the verdict by the rule "freed everywhere".
func (r *release) Decide() quorum.Verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	return freed(r.states, r.Need)
}

func (r *release) Weigh(master int, v script.Vote) script.Vote {
	r.note(master, v)
	return r.hold.freed(master, v, r.View.Version)
}

// release asks the masters to free the name. Each request is sent again until it has arrived or is
// obsolete. The next caller's attempt is sent right behind the release.
//
// A master that never had the hold is asked once. It is not asked at all if the other masters decide
// before. Its answer counts only if the name is free on this master: another owner, or an earlier hold
// of this client, may have the lock.
func (h *Hold) release(next Next) *quorum.Round {
	if next.Asked == nil && h.lingers() {
		return h.linger()
	}
	r := &release{asker: asker{hold: h, want: want{aim: toFree}}}
	r.Init(h.holds.View())
	r.Held, r.Weigher, r.beside = true, r, &r.Round
	if next.Keep != nil {
		r.plain = h.PassCall(next.Keep)
	} else {
		r.plain = h.ReleaseCall()
		r.states, r.Otherwise = append(r.room[:0], make([]releaseState, len(h.lease.Masters))...), r
	}
	var acquires []master.Request
	if next.Asked != nil {
		acquires = next.Asked.Requests(len(h.lease.Masters))
	}
	requests := r.Requests(len(h.lease.Masters))
	now := h.holds.Now()
	h.mu.Lock()
	for i, s := range h.lease.Masters {
		if r.states != nil {
			r.states[i] = releaseState{member: r.View.IDs[i] != "", mayHave: !s.Absent(), granted: s.Granted}
		}
		requests[i] = r.request(i, &r.Round, now)
	}
	h.mu.Unlock()
	if next.Asked == nil {
		r.Ask(h.holds.Masters)
		return &r.Round
	}
	for i := range requests {
		if next.Asked.Refused(i) {
			h.holds.Masters[i].Submit(&requests[i])
			continue
		}
		acquires[i] = master.Request{Order: h.Name, Call: next.Call, Version: next.Asked.View.Version, To: next.Asked}
		h.holds.Masters[i].Submit(&requests[i], &acquires[i])
	}
	return &r.Round
}

// freed returns the vote that counts for a master's answer to a release. The answer "not yours"
// counts as a grant if the name is free on the master. If the master had granted the hold, the name
// counts as free if an earlier copy of the release may have freed it. Otherwise it counts as free if
// no other owner has it, and the master votes at this version.
func (h *Hold) freed(master int, v script.Vote, version string) script.Vote {
	if !v.NotMine() {
		return v
	}
	h.mu.Lock()
	free := v.Answer != script.Held && h.lease.Masters[master].NonVotingAt != version
	if h.lease.Masters[master].Granted {
		free = v.MayArrive
	}
	h.mu.Unlock()
	if free {
		v.Answer, v.Err = script.Granted, nil
	}
	return v
}
