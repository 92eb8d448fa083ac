package lease

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
)

// What becomes of a master's state by a notice, whenever it comes.
func TestWhatANoticeTells(t *testing.T) {
	t.Parallel()
	const s = clock.Instant(time.Second)
	terms := quorum.TermsOf(10*time.Second, 0, 0.01)
	given := terms.Given(0.01)
	notice := script.Vote{Answered: true, Answer: script.Granted, Given: true, Grant: 7, Sent: 1 * s, Got: 2 * s}
	held := script.Vote{Answered: true, Answer: script.Held, Sent: 1 * s, Got: 1 * s}
	twice := held
	twice.MayArrive = true
	no := script.Vote{Answered: true, Answer: script.Refused, Err: script.ErrNotMine}
	for _, x := range []struct {
		what    string
		answers []Answer
		want    Master
	}{
		{"refused: it may grant for as long as the offer stands", []Answer{{Vote: held}},
			Master{Answered: true, Offered: held.Got.Add(given.OfferLife())}},
		{"granted then, for less than the ttl, from before it was asked", []Answer{{Vote: held}, {Vote: notice}},
			Master{Answered: true, Granted: true, Grant: 7, Until: given.ValidUntil(1 * s)}},
		{"the notice comes before the answer", []Answer{{Vote: notice}, {Vote: held}},
			Master{Answered: true, Granted: true, Grant: 7, Until: given.ValidUntil(1 * s)}},
		{"the answer tells that a second copy is under way", []Answer{{Vote: notice}, {Vote: twice}},
			Master{Answered: true, Granted: true, Grant: 7, MayArrive: true, Until: given.ValidUntil(1 * s)}},
		{"the notice comes twice", []Answer{{Vote: notice}, {Vote: notice}},
			Master{Answered: true, Granted: true, Grant: 7, Until: given.ValidUntil(1 * s)}},
		{"it comes after the master said that it does not have the lock", []Answer{{Vote: held}, {To: ToExtend, Vote: no}, {Vote: notice}},
			Master{Answered: true, Lost: true, MayArrive: true}},
	} {
		var m Master
		for _, a := range x.answers {
			a.Terms, a.given, a.version, a.counts, a.Now = terms, given, "v", true, 2*s
			m.take(a)
		}
		m.Expiry = quorum.Expiry{}
		if m != x.want {
			t.Errorf("%s: %+v, want %+v", x.what, m, x.want)
		}
	}
}

// What a hold knows of a master after an answer, for each state that a master can be in and each
// answer that can come. A state and an answer are told in words, and so is what is known then.
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
	unknown := script.Vote{Answer: script.Unknown, MayArrive: true}
	twice := func(v script.Vote) script.Vote { v.MayArrive = true; return v } // it was sent again

	// The states, each as left by answers at 1 s.
	states := map[string]Master{
		"not heard":      {},
		"refused":        {Answered: true},
		"not answered":   {Answered: true, MayArrive: true, Expiry: quorum.Expiry{Lo: 0, Hi: 11 * s}},
		"granted 7":      {Answered: true, Granted: true, Grant: 7, Until: counts(1 * s), Expiry: quorum.Expiry{Lo: 11 * s, Hi: 11 * s}},
		"granted, which": {Answered: true, Granted: true, MayArrive: true, Until: counts(1 * s), Expiry: quorum.Expiry{Lo: 11 * s, Hi: 11 * s}}, // by an extend alone
		"lost":           {Answered: true, Lost: true, Until: 1 * s},
		"under repair":   {Answered: true, Lost: true, Repairs: 1, Until: 1 * s},
		"in doubt, too":  {Answered: true, Lost: true, Repairs: 1, MayArrive: true, Until: 1 * s},
		"without a vote": {Answered: true, NonVotingAt: "v"},
	}
	for _, x := range []struct {
		state string
		to    Question
		vote  script.Vote

		counts  clock.Instant // until when its vote counts
		granted bool
		grant   int64
		doubt   bool
		lost    bool
		mute    bool
		answer  script.Answer // what counts in the round
	}{
		{"not heard", ToAcquire, yes(7), counts(2 * s), true, 7, false, false, false, script.Granted},
		{"not heard", ToAcquire, held, 0, false, 0, false, false, false, script.Held},
		{"not heard", ToAcquire, unknown, 0, false, 0, true, false, false, script.Unknown},
		{"not heard", ToAcquire, novote, 0, false, 0, false, false, true, script.Refused},
		{"not heard", ToAcquire, full, 0, false, 0, false, false, false, script.Refused},

		// An acquire is answered once, whatever came meanwhile.
		{"refused", ToAcquire, yes(7), 0, false, 0, false, false, false, script.Granted},
		{"granted 7", ToAcquire, held, counts(1 * s), true, 7, false, false, false, script.Held},
		{"lost", ToAcquire, yes(7), 1 * s, false, 0, false, true, false, script.Granted},

		// An extend does not tell the number of the grant.
		{"refused", ToExtend, yes(0), counts(2 * s), true, 0, false, false, false, script.Granted},
		{"not answered", ToExtend, yes(0), counts(2 * s), true, 0, true, false, false, script.Granted},
		{"granted 7", ToExtend, yes(0), counts(2 * s), true, 7, false, false, false, script.Granted},
		{"granted 7", ToExtend, no, 2 * s, false, 0, false, true, false, script.Refused},
		{"granted, which", ToExtend, no, 2 * s, false, 0, true, true, false, script.Refused},
		{"granted 7", ToExtend, unknown, counts(1 * s), true, 7, false, false, false, script.Unknown},
		{"granted 7", ToExtend, novote, counts(1 * s), true, 7, false, false, true, script.Refused},
		{"granted 7", ToExtend, full, counts(1 * s), true, 7, false, false, false, script.Refused},

		// A re-entry tells it: the one that is not known is learned, and another one is not the
		// grant that voted.
		{"not answered", ToReenter, yes(7), counts(2 * s), true, 7, true, false, false, script.Granted},
		{"granted, which", ToReenter, yes(7), counts(2 * s), true, 7, true, false, false, script.Granted},
		{"granted 7", ToReenter, yes(7), counts(2 * s), true, 7, false, false, false, script.Granted},
		{"granted 7", ToReenter, yes(8), 2 * s, true, 8, true, false, false, script.Refused},
		{"granted 7", ToReenter, no, 2 * s, false, 0, false, true, false, script.Refused},
		{"granted 7", ToReenter, held, 2 * s, false, 0, false, true, false, script.Held},
		{"granted 7", ToReenter, unknown, counts(1 * s), true, 7, true, false, false, script.Unknown},
		{"granted 7", ToReenter, novote, counts(1 * s), true, 7, false, false, true, script.Refused},

		// A repair tells it, and counts from the next round on.
		{"under repair", ToRepair, yes(token), 1 * s, true, token, false, false, false, script.Refused},
		{"under repair", ToRepair, yes(7), 1 * s, true, 7, false, false, false, script.Refused}, // a late copy of the acquire was there
		{"under repair", ToRepair, no, 1 * s, false, 0, false, true, false, script.Refused},
		{"under repair", ToRepair, unknown, 1 * s, false, 0, true, true, false, script.Unknown},
		{"under repair", ToRepair, novote, 1 * s, false, 0, false, true, true, script.Refused},
		{"lost", ToReenter, yes(7), counts(2 * s), true, 7, false, true, false, script.Granted},

		// What is in doubt once stays so, whatever is answered to something else. A second copy of
		// what would give the owner the lock is a doubt, also when it is answered.
		{"not heard", ToAcquire, twice(yes(7)), counts(2 * s), true, 7, true, false, false, script.Granted},
		{"granted 7", ToReenter, twice(yes(7)), counts(2 * s), true, 7, true, false, false, script.Granted},
		{"granted 7", ToExtend, twice(yes(0)), counts(2 * s), true, 7, false, false, false, script.Granted},
		{"under repair", ToRepair, twice(yes(token)), 1 * s, true, token, true, false, false, script.Refused},
		{"under repair", ToRepair, twice(no), 1 * s, false, 0, true, true, false, script.Refused},
		{"under repair", ToRepair, script.Vote{Answer: script.Unknown}, 1 * s, false, 0, true, true, false, script.Unknown},
		{"in doubt, too", ToRepair, yes(token), 1 * s, true, token, true, false, false, script.Refused},
		{"in doubt, too", ToRepair, no, 1 * s, false, 0, true, true, false, script.Refused},

		// Who says yes or no has a vote.
		{"without a vote", ToExtend, yes(0), counts(2 * s), true, 0, false, false, false, script.Granted},
		{"without a vote", ToExtend, no, 0, false, 0, false, true, false, script.Refused},
		{"without a vote", ToReenter, held, 0, false, 0, false, true, false, script.Held},
		{"without a vote", ToExtend, unknown, 0, false, 0, false, false, true, script.Unknown},
		{"without a vote", ToExtend, full, 0, false, 0, false, false, true, script.Refused},
	} {
		m := states[x.state]
		v := x.vote
		v.Answered, v.Sent, v.Got = true, 2*s, 2*s
		if x.to == ToExtend && v.Answer == script.Granted {
			v.Remaining = max(m.Expiry.Lo.Sub(v.Got), 0)
		}
		got, _ := m.take(Answer{To: x.to, Vote: v, Terms: terms, version: "v", counts: true, Now: 2 * s})
		name := map[Question]string{ToAcquire: "acquire", ToExtend: "extend", ToReenter: "re-entry", ToRepair: "repair"}[x.to]
		claim := x.state + ", " + name + " " + x.vote.Answer.String()
		if got.Answer != x.answer || m.Until != x.counts || m.Granted != x.granted || m.Grant != x.grant ||
			m.MayArrive != x.doubt || m.Lost != x.lost || (m.NonVotingAt == "v") != x.mute || !m.Answered {
			t.Errorf("%s (%v): %v, and then %+v", claim, x.vote.Err, got.Answer, m)
		}
		if m.Repairs != 0 {
			t.Errorf("%s: %d repairs are under way", claim, m.Repairs)
		}
	}
}
