package redlock

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// vote lets the hold take a grant at a view's version, which counts.
func (h *hold) vote(i int, v script.Vote, at *membership.View) {
	h.masters[i].take(answer{to: toReenter, vote: v, terms: h.terms, version: at.Version, counts: h.counts(at), now: v.Got})
}

// notMine is the answer that the lock is not the asker's.
func notMine(at clock.Instant) script.Vote {
	return script.Vote{Heard: true, Answer: script.Refused, Err: script.ErrNotMine, Sent: at, Got: at}
}

// What a hold knows of a master after an answer, for each state that a master can be in and each answer that can
// come. A state and an answer are told in words, and so is what is known then.
func TestWhatAHoldKnowsOfAMaster(t *testing.T) {
	const (
		s     = clock.Instant(time.Second)
		ttl   = 10 * time.Second
		token = 9
	)
	terms := quorum.TermsOf(ttl, 0, 0.01)
	counts := func(sent clock.Instant) clock.Instant { return terms.ValidUntil(sent) }
	yes := func(grant int64) script.Vote { return script.Vote{Answer: script.Granted, Grant: grant} }
	no := script.Vote{Answer: script.Refused, Err: script.ErrNotMine}
	held := script.Vote{Answer: script.Held, Remaining: time.Second}
	novote := script.Vote{Answer: script.Refused, Err: script.ErrVersion}
	full := script.Vote{Answer: script.Refused, Err: quorum.ErrNotSent}
	unknown := script.Vote{Answer: script.Unknown, Doubt: true}
	twice := func(v script.Vote) script.Vote { v.Doubt = true; return v } // it was sent again

	// The states, each as left by answers at 1 s.
	states := map[string]masterHold{
		"not heard":      {},
		"refused":        {heard: true},
		"not answered":   {heard: true, doubt: true, expiry: quorum.Expiry{Lo: 0, Hi: 11 * s}},
		"granted 7":      {heard: true, granted: true, grant: 7, until: counts(1 * s), expiry: quorum.Expiry{Lo: 11 * s, Hi: 11 * s}},
		"granted, which": {heard: true, granted: true, doubt: true, until: counts(1 * s), expiry: quorum.Expiry{Lo: 11 * s, Hi: 11 * s}}, // by an extend alone
		"lost":           {heard: true, lost: true, until: 1 * s},
		"under repair":   {heard: true, lost: true, repairs: 1, until: 1 * s},
		"in doubt, too":  {heard: true, lost: true, repairs: 1, doubt: true, until: 1 * s},
		"without a vote": {heard: true, mute: "v"},
	}
	for _, x := range []struct {
		state string
		to    question
		vote  script.Vote

		counts  clock.Instant // until when its vote counts
		granted bool
		grant   int64
		doubt   bool
		lost    bool
		mute    bool
		answer  script.Answer // what counts in the round
	}{
		{"not heard", toAcquire, yes(7), counts(2 * s), true, 7, false, false, false, script.Granted},
		{"not heard", toAcquire, held, 0, false, 0, false, false, false, script.Held},
		{"not heard", toAcquire, unknown, 0, false, 0, true, false, false, script.Unknown},
		{"not heard", toAcquire, novote, 0, false, 0, false, false, true, script.Refused},
		{"not heard", toAcquire, full, 0, false, 0, false, false, false, script.Refused},

		// An acquire is answered once, whatever came meanwhile.
		{"refused", toAcquire, yes(7), 0, false, 0, false, false, false, script.Granted},
		{"granted 7", toAcquire, held, counts(1 * s), true, 7, false, false, false, script.Held},
		{"lost", toAcquire, yes(7), 1 * s, false, 0, false, true, false, script.Granted},

		// An extend does not tell the number of the grant.
		{"refused", toExtend, yes(0), counts(2 * s), true, 0, false, false, false, script.Granted},
		{"not answered", toExtend, yes(0), counts(2 * s), true, 0, true, false, false, script.Granted},
		{"granted 7", toExtend, yes(0), counts(2 * s), true, 7, false, false, false, script.Granted},
		{"granted 7", toExtend, no, 2 * s, false, 0, false, true, false, script.Refused},
		{"granted, which", toExtend, no, 2 * s, false, 0, true, true, false, script.Refused},
		{"granted 7", toExtend, unknown, counts(1 * s), true, 7, false, false, false, script.Unknown},
		{"granted 7", toExtend, novote, counts(1 * s), true, 7, false, false, true, script.Refused},
		{"granted 7", toExtend, full, counts(1 * s), true, 7, false, false, false, script.Refused},

		// A re-entry tells it: the one that is not known is learned, and another one is not the grant that voted.
		{"not answered", toReenter, yes(7), counts(2 * s), true, 7, true, false, false, script.Granted},
		{"granted, which", toReenter, yes(7), counts(2 * s), true, 7, true, false, false, script.Granted},
		{"granted 7", toReenter, yes(7), counts(2 * s), true, 7, false, false, false, script.Granted},
		{"granted 7", toReenter, yes(8), 2 * s, true, 8, true, false, false, script.Refused},
		{"granted 7", toReenter, no, 2 * s, false, 0, false, true, false, script.Refused},
		{"granted 7", toReenter, held, 2 * s, false, 0, false, true, false, script.Held},
		{"granted 7", toReenter, unknown, counts(1 * s), true, 7, true, false, false, script.Unknown},
		{"granted 7", toReenter, novote, counts(1 * s), true, 7, false, false, true, script.Refused},

		// A repair tells it, and counts from the next round on.
		{"under repair", toRepair, yes(token), 1 * s, true, token, false, false, false, script.Refused},
		{"under repair", toRepair, yes(7), 1 * s, true, 7, false, false, false, script.Refused}, // a late copy of the acquire was there
		{"under repair", toRepair, no, 1 * s, false, 0, false, true, false, script.Refused},
		{"under repair", toRepair, unknown, 1 * s, false, 0, true, true, false, script.Unknown},
		{"under repair", toRepair, novote, 1 * s, false, 0, false, true, true, script.Refused},
		{"lost", toReenter, yes(7), counts(2 * s), true, 7, false, true, false, script.Granted},

		// What is in doubt once stays so, whatever is answered to something else. A second copy of what would give the owner the
		// lock is a doubt, also when it is answered.
		{"not heard", toAcquire, twice(yes(7)), counts(2 * s), true, 7, true, false, false, script.Granted},
		{"granted 7", toReenter, twice(yes(7)), counts(2 * s), true, 7, true, false, false, script.Granted},
		{"granted 7", toExtend, twice(yes(0)), counts(2 * s), true, 7, false, false, false, script.Granted},
		{"under repair", toRepair, twice(yes(token)), 1 * s, true, token, true, false, false, script.Refused},
		{"under repair", toRepair, twice(no), 1 * s, false, 0, true, true, false, script.Refused},
		{"under repair", toRepair, script.Vote{Answer: script.Unknown}, 1 * s, false, 0, true, true, false, script.Unknown},
		{"in doubt, too", toRepair, yes(token), 1 * s, true, token, true, false, false, script.Refused},
		{"in doubt, too", toRepair, no, 1 * s, false, 0, true, true, false, script.Refused},

		// Who says yes or no has a vote.
		{"without a vote", toExtend, yes(0), counts(2 * s), true, 0, false, false, false, script.Granted},
		{"without a vote", toExtend, no, 0, false, 0, false, true, false, script.Refused},
		{"without a vote", toReenter, held, 0, false, 0, false, true, false, script.Held},
		{"without a vote", toExtend, unknown, 0, false, 0, false, false, true, script.Unknown},
		{"without a vote", toExtend, full, 0, false, 0, false, false, true, script.Refused},
	} {
		m := states[x.state]
		v := x.vote
		v.Heard, v.Sent, v.Got = true, 2*s, 2*s
		if x.to == toExtend && v.Answer == script.Granted {
			v.Remaining = max(m.expiry.Lo.Sub(v.Got), 0)
		}
		got, _ := m.take(answer{to: x.to, vote: v, terms: terms, version: "v", counts: true, now: 2 * s})
		name := map[question]string{toAcquire: "acquire", toExtend: "extend", toReenter: "re-entry", toRepair: "repair"}[x.to]
		claim := x.state + ", " + name + " " + x.vote.Answer.String()
		if got.Answer != x.answer || m.until != x.counts || m.granted != x.granted || m.grant != x.grant ||
			m.doubt != x.doubt || m.lost != x.lost || (m.mute == "v") != x.mute || !m.heard {
			t.Errorf("%s (%v): %v, and then %+v", claim, x.vote.Err, got.Answer, m)
		}
		if m.repairs != 0 {
			t.Errorf("%s: %d repairs are under way", claim, m.repairs)
		}
	}
}
