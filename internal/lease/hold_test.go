package lease

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// quiet is the observer of a hold, and the callers of its client, where neither matters.
type quiet struct{}

func (quiet) Renewed(*Hold, time.Duration)                         {}
func (quiet) RenewalFailed(*Hold, *membership.View, []script.Vote) {}
func (quiet) ClockJumped(*Hold, int, time.Duration)                {}
func (quiet) Ended(*Hold, error)                                   {}
func (quiet) Block(string)                                         {}
func (quiet) Unblock(string)                                       {}
func (quiet) Next(*Hold) Next                                      { return Next{} }

// holdOf returns a hold that so many masters were asked for. It is a second old.
func holdOf(masters int) *Hold {
	v := testvotes.ViewOfAll(masters)
	holds := NewHolds(Client{
		Prefix:  "redlock",
		Now:     func() clock.Instant { return clock.Instant(time.Second) },
		View:    func() *membership.View { return v },
		Masters: make([]*master.Master, masters),
		Callers: quiet{},
	})
	return holds.New(v, "job", "owner", Config{TTL: terms.TTL, Drift: 0.01, Observer: quiet{}})
}

// A request leaves as long as its round is of interest, and the hold that it is for is not
// over. One that does not leave is answered, and in no doubt.
func TestWhatNobodyWaitsForDoesNotLeave(t *testing.T) {
	for _, x := range []struct {
		claim           string
		ended           error // of the hold
		ofHold, abandon bool
		want            bool
	}{
		{"of no hold", nil, false, false, true},
		{"of a hold", nil, true, false, true},
		{"the hold is over", ErrReleased, true, false, false},
		{"the round is of no interest", nil, false, true, false},
		{"the round of a hold is of no interest", nil, true, true, false},
	} {
		r := quorum.NewRound(testvotes.ViewOfAll(1))
		if x.ofHold {
			h := holdOf(1)
			h.ended = x.ended
			r.During = h
		}
		if x.abandon {
			r.Abandon()
		}
		left := r.Begin(0)
		if v := r.Tally()[0]; left != x.want || v.Heard == left || !left && (v.Err != quorum.ErrNotSent || v.Doubt) {
			t.Errorf("%s: leaves is %v, want %v; the vote is %+v", x.claim, left, x.want, v)
		}
	}
}

// A repair is under way until it is answered itself: an older extend that was
// dropped in the queue says nothing of it.
func TestAnotherRoundsAnswerEndsNoRepair(t *testing.T) {
	h := holdOf(1)
	now, v := h.holds.Now(), h.holds.View()
	h.Take(0, ToAcquire, script.Vote{Heard: true, Answer: script.Granted, Sent: now, Got: now}, h.terms, v)
	h.Take(0, ToExtend, testvotes.NotMine(now), h.terms, v)
	h.lease.Masters[0].Repairs++
	h.Take(0, ToExtend, script.Vote{Heard: true, Answer: script.Refused, Err: quorum.ErrNotSent}, h.terms, v)
	if h.Master(0).Absent() {
		t.Error("a master that is being sent a repair is taken for one that will not have the lock")
	}
	counted := h.Take(0, ToRepair, script.Vote{Heard: true, Answer: script.Granted, Sent: now, Got: now}, h.terms, v)
	if counted.Answer == script.Granted || !h.Master(0).Granted {
		t.Errorf("the repair counts as %v; the lock stands there: %v", counted, h.Master(0).Granted)
	}
}

func TestTheVoteOfAJumpedClockDoesNotCount(t *testing.T) {
	for by, want := range map[time.Duration]script.Answer{0: script.Granted, time.Second: script.Refused, -time.Second: script.Refused} {
		h := holdOf(1)
		now, v := h.holds.Now(), h.holds.View()
		acquired := now.Add(-time.Second)
		vote := []script.Vote{{Heard: true, Answer: script.Granted, Sent: acquired, Got: acquired}}
		h.Count(vote, vote)
		before := h.Master(0)
		counted := h.Take(0, ToExtend, script.Vote{Heard: true, Answer: script.Granted, Sent: now, Got: now, Remaining: h.terms.TTL - time.Second - by}, h.terms, v)
		if counts := h.Master(0).Until > before.Until; counted.Answer != want || counts != (want == script.Granted) {
			t.Errorf("jumped by %v: %v, counts: %v", by, counted, counts)
		}
	}
}
