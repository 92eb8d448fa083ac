package lease

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

// watched is a renewed hold of three masters. Only the test moves its clock, so the hold's timer
// does not renew.
type watched struct {
	*Hold
	now *atomic.Int64
}

func watch(t *testing.T) watched {
	h := holdOf(3)
	now := new(atomic.Int64)
	now.Store(int64(h.holds.Now()))
	h.holds.Now = func() clock.Instant { return clock.Instant(now.Load()) }
	h.Config.Watchdog = true
	begin(t, h)
	return watched{h, now}
}

// asked returns how many requests wait in the request queue of each master.
func (w watched) asked() (n [3]int) {
	for i, m := range w.holds.Masters {
		n[i] = m.Pending()
	}
	return n
}

// yes returns the answer of a master that still has the lock.
func (w watched) yes() script.Vote {
	now := w.holds.Now()
	return script.Vote{Answered: true, Answer: script.Granted, Sent: now, Got: now, Remaining: terms.TTL - now.Sub(w.began)}
}

var (
	noAnswer  = script.Vote{Answered: true, Answer: script.Unknown}
	notMine   = testvotes.NotMine(clock.Instant(time.Second))
	retryTime = terms.TTL / RenewRetries
)

// The first renewal is due long before the lease ends, however late the votes are counted. After a handover it is due
// soon.
func TestFirstRenewalTime(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, x := range []struct {
		claim string
		ttl   time.Duration
		given bool
		ago   time.Duration // how long ago the requests for the votes were sent
		left  time.Duration
		due   time.Duration
	}{
		{"granted at once", 30 * time.Second, false, 0, 29698 * ms, 10 * time.Second},
		{"granted when two thirds of the lease are over", 30 * time.Second, false, 20 * time.Second, 9698 * ms, 10 * time.Second / 3},
		{"given at once", 30 * time.Second, true, 0, 988 * ms, 50 * ms},
		{"given late", 30 * time.Second, true, 868 * ms, 120 * ms, 44 * ms},
		{"given, and the ttl is short", 100 * ms, true, 0, 97 * ms, 100 * ms / 3},
	} {
		h := holdOf(3)
		h.Config.Watchdog = true
		h.renewals.terms = quorum.TermsOf(x.ttl, 0, 0.01)
		h.renewals.pace = x.ttl
		channel := "channel"
		Acquisition{h}.Offer(Place{Channel: &channel})
		now := h.holds.Now()
		votes := make([]script.Vote, 3)
		for i := range votes {
			votes[i] = script.Vote{Answered: true, Answer: script.Granted, Given: x.given, Grant: 7, Sent: now.Add(-x.ago), Got: now}
		}
		if !(Acquisition{h}).Count(votes, votes) {
			t.Errorf("%s: too little is left", x.claim)
		}
		if left, due := h.lease.Until().Sub(now), h.renewals.at.Sub(now); left != x.left || due != x.due {
			t.Errorf("%s: %v are left, want %v; it is renewed after %v, want %v", x.claim, left, x.left, due, x.due)
		}
	}
}

// A renewal that can still succeed continues. Otherwise another replaces it.
func TestRenewalContinues(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim  string
		ttl    time.Duration // of the next renewal
		first  func(watched, *renewal)
		goesOn bool
		asked  [3]int
	}{
		{"nobody has answered", terms.TTL, func(watched, *renewal) {}, true, [3]int{1, 1, 1}},
		{"one failed, and was asked a moment ago", terms.TTL, func(w watched, r *renewal) { r.Answer(0, noAnswer) }, true, [3]int{1, 1, 1}},
		{"one failed, and was asked a while ago", terms.TTL, func(w watched, r *renewal) {
			r.Answer(0, noAnswer)
			w.now.Add(int64(retryTime))
		}, true, [3]int{2, 1, 1}},
		{"it is lost", terms.TTL, func(w watched, r *renewal) {
			r.Answer(0, noAnswer)
			r.Answer(1, noAnswer)
		}, false, [3]int{1, 1, 1}},
		{"it is won", terms.TTL, func(w watched, r *renewal) {
			r.Answer(0, w.yes())
			r.Answer(1, w.yes())
		}, false, [3]int{1, 1, 1}},
		{"one lost the lock, and gets a repair", terms.TTL, func(w watched, r *renewal) { r.Answer(0, notMine) }, false, [3]int{1, 1, 1}},
		{"the next one is for another ttl", terms.TTL / 2, func(watched, *renewal) {}, false, [3]int{1, 1, 1}},
		{"the members have changed", terms.TTL, func(w watched, r *renewal) {
			v := testvotes.ViewOfAll(3)
			v.Version = "2"
			w.holds.View = func() *membership.View { return v }
		}, false, [3]int{1, 1, 1}},
	} {
		w := watch(t)
		w.renew(terms.TTL)
		first := w.renewals.last
		x.first(w, first)
		w.renew(x.ttl)
		if goesOn := w.renewals.last == first; goesOn != x.goesOn || w.asked() != x.asked {
			t.Errorf("%s: it goes on: %v, want %v; %v requests are queued, want %v", x.claim, goesOn, x.goesOn, w.asked(), x.asked)
		}
	}
}

// A renewal that got no quorum is tried again at once, if it took as long as the pause between two tries.
func TestLostRenewalRetry(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim     string
		wins      bool
		took      time.Duration
		change    func(watched)
		restarted bool
	}{
		{"lost in a moment", false, retryTime - 1, func(watched) {}, false},
		{"lost after a while", false, retryTime, func(watched) {}, true},
		{"won after a while", true, retryTime, func(watched) {}, false},
		{"it is not to be renewed any more", false, retryTime, func(w watched) { w.Config.Watchdog = false }, false},
		{"another one came", false, retryTime, func(w watched) { w.renewals.last = &renewal{} }, false},
		{"the hold is over", false, retryTime, func(w watched) { w.End(ErrLost) }, false},
	} {
		w := watch(t)
		w.renew(terms.TTL)
		first := w.renewals.last
		vote := func() script.Vote {
			if x.wins {
				return w.yes()
			}
			return noAnswer
		}
		first.Answer(0, vote())
		w.now.Add(int64(x.took))
		x.change(w)
		last := w.renewals.last
		first.Answer(1, vote())
		if restarted := w.renewals.last != last; restarted != x.restarted {
			t.Errorf("%s: another one began: %v, want %v", x.claim, restarted, x.restarted)
		}
	}
}

// A master that has the lock without its token is asked with each renewal to confirm the token, until it has confirmed.
func TestRenewalConfirmsToken(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim string
		reads bool
		is    Master
		out   error
		asked int
	}{
		{"it granted the token", false, Master{Granted: true, Grant: 7}, nil, 0},
		{"it granted less", false, Master{Granted: true, Grant: 5}, nil, 1},
		{"it does not have the lock", false, Master{Grant: 5}, nil, 0},
		{"it has no vote", false, Master{Granted: true, Grant: 5}, script.ErrNotMember, 0},
		{"a reader has no token", true, Master{Granted: true, Grant: 5}, nil, 0},
	} {
		w := watch(t)
		w.Reads.Store(x.reads)
		w.lease.Masters[1] = x.is
		v := testvotes.ViewOfAll(3)
		v.Out[1] = x.out
		w.confirmRest(v)
		if got := w.asked(); got != [3]int{0, x.asked, 0} {
			t.Errorf("%s: %v are asked, want %d", x.claim, got, x.asked)
		}
	}
	for _, x := range []struct {
		claim string
		has   bool
		vote  script.Vote
		want  bool
	}{
		{"it has confirmed", true, script.Vote{Answered: true, Answer: script.Granted}, true},
		{"it did not answer", true, noAnswer, false},
		{"it lost the lock meanwhile", false, script.Vote{Answered: true, Answer: script.Granted}, false},
		{"it never had it", false, notMine, false},
	} {
		w := watch(t)
		w.lease.Masters[1] = Master{Granted: x.has, Grant: 5}
		confirming{w.Hold}.Answer(1, x.vote)
		if got := w.Master(1).Confirmed; got != x.want {
			t.Errorf("%s: it knows the token: %v, want %v", x.claim, got, x.want)
		}
	}
}

// A change of the members restarts a renewal that is under way.
func TestRenewalRestartsOnMemberChange(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		claim  string
		change func(watched)
		want   bool
	}{
		{"it is under way", func(w watched) { w.renew(terms.TTL) }, true},
		{"it is won", func(w watched) {
			w.renew(terms.TTL)
			w.renewals.last.Answer(0, w.yes())
			w.renewals.last.Answer(1, w.yes())
		}, false},
		{"there was none", func(watched) {}, false},
		{"it is not to be renewed", func(w watched) {
			w.renew(terms.TTL)
			w.Config.Watchdog = false
		}, false},
		{"the hold is over", func(w watched) {
			w.renew(terms.TTL)
			w.End(ErrLost)
		}, false},
	} {
		w := watch(t)
		x.change(w)
		before := w.renewals.last
		v := testvotes.ViewOfAll(3)
		v.Version = "2"
		w.holds.View = func() *membership.View { return v }
		w.membersChanged()
		if got := w.renewals.last != before; got != x.want {
			t.Errorf("%s: another one began: %v, want %v", x.claim, got, x.want)
		}
	}
}

// holdMany returns n holds of a client without timers, and their clock.
func holdMany(n int) (*Holds, *atomic.Int64) {
	h, now := holdOf(3), new(atomic.Int64)
	s := h.holds
	s.Now = func() clock.Instant { return clock.Instant(now.Load()) + clock.Instant(time.Since(s.suspend.born)) }
	s.suspend.timer = time.AfterFunc(time.Hour, func() {})
	for i := range n {
		s.add(s.New(s.View(), fmt.Sprint("job ", i), fmt.Sprint("owner ", i), Config{TTL: terms.TTL, Drift: 0.01}, nil, quiet{}).Hold)
	}
	return s, now
}

// The suspend check does no work per hold unless the machine was suspended.
func TestSuspendCheckVisitsNoHold(t *testing.T) {
	const n = 1000
	s, now := holdMany(n)
	if allocs := testing.AllocsPerRun(10, func() { s.suspend.check(s) }); allocs > 0 {
		t.Errorf("with %d holds it allocates %v times", n, allocs)
	}
	all := s.All()
	for _, h := range all {
		h.cancel = func(error) {}
		h.renewals.timer = time.AfterFunc(time.Hour, func() {})
	}
	now.Add(int64(time.Minute))
	s.suspend.check(s)
	for _, h := range all {
		if h.Over() != ErrExpired {
			t.Fatalf("after a suspension %s is over with %v", h.Name, h.Over())
		}
	}
}
