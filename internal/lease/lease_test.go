package lease

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/membership"
	"github.com/redlock-go/redlock/internal/quorum"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/testvotes"
)

var terms = quorum.TermsOf(30*time.Second, 0, 0.01)

func leaseAt(v *membership.View) *Lease {
	l := new(Lease)
	l.Init(v, len(v.Out))
	return l
}

// vote makes the lease take a vote at a view's version.
func (l *Lease) vote(i int, v script.Vote, at *membership.View) {
	l.Masters[i].take(Answer{To: ToReenter, Vote: v, Terms: terms, version: at.Version, counts: l.counts(at), Now: v.Got})
}

// answer makes the lease take an answer at the time when it comes, and returns the vote that counts in its round.
func (l *Lease) answer(i int, to Question, v script.Vote, t quorum.Terms, at *membership.View) script.Vote {
	counted, _, _ := l.Take(i, Answer{To: to, Vote: v, Terms: t, Now: v.Got}, at, false)
	return counted
}

// The vote of a master that did not confirm the token does not make a lease longer that other votes prove.
func TestOnlyConfirmedVotesCount(t *testing.T) {
	const s = int64(time.Second)
	for _, x := range []struct {
		claim  string
		sent   [3]int64
		grants [3]int64 // below 0: the master was asked to confirm, and answered "not yours"
		want   int64    // when the vote that decides was sent
	}{
		{"all confirmed: the second-latest counts", [3]int64{1 * s, 2 * s, 3 * s}, [3]int64{5, 5, 5}, 2 * s},
		{"the latest has a lower grant, and does not count", [3]int64{1 * s, 2 * s, 3 * s}, [3]int64{5, 5, 4}, 1 * s},
		{"the earliest has a lower grant", [3]int64{1 * s, 2 * s, 3 * s}, [3]int64{4, 5, 5}, 2 * s},
		{"the latest did not confirm", [3]int64{1 * s, 2 * s, 3 * s}, [3]int64{5, 5, -4}, 1 * s},
	} {
		l := leaseAt(testvotes.ViewOfAll(3))
		votes := make([]script.Vote, 3)
		for i := range votes {
			votes[i] = script.Vote{Answered: true, Answer: script.Granted, Grant: max(x.grants[i], -x.grants[i]), Sent: clock.Instant(x.sent[i]), Got: clock.Instant(x.sent[i])}
		}
		standing := quorum.Standings(votes, quorum.HighestGrant(votes))
		for i, grant := range x.grants {
			if grant < 0 {
				standing[i] = script.Vote{Answered: true, Answer: script.Refused, Err: script.ErrNotMine}
			}
		}
		got := l.Acquire(votes, standing, terms, 0)
		if want := terms.ValidUntil(clock.Instant(x.want)); got != want {
			t.Errorf("%s: valid until %v, want %v", x.claim, time.Duration(got), time.Duration(want))
		}
	}
}

// An answer "not yours" revokes the master's votes at all versions.
func TestNotMineRevokesVotes(t *testing.T) {
	l := leaseAt(testvotes.ViewOfAll(3))
	const first = clock.Instant(time.Second)
	votes := func(version string, sent clock.Instant, masters ...int) {
		view := testvotes.ViewOfAll(3)
		view.Version = version
		for _, i := range masters {
			v := script.Vote{Answered: true, Answer: script.Granted, Grant: 7, Sent: sent, Got: sent}
			l.vote(i, v, view)
		}
	}
	votes(l.Version, first, 0, 1, 2)
	votes("2", first+1, 1)
	votes("3", first+2, 2) // the votes at the first version still prove the hold
	_, _, takenBack := l.Take(0, Answer{To: ToExtend, Vote: testvotes.NotMine(first + 3), Terms: terms, Now: first + 3}, testvotes.ViewOfAll(3), false)
	if want := terms.ValidUntil(first); l.Until() != want || !takenBack {
		t.Errorf("valid until %v, want %v: two of three have the lock; something is taken back: %v", l.Until(), want, takenBack)
	}
	l.answer(1, ToExtend, testvotes.NotMine(first+4), terms, testvotes.ViewOfAll(3))
	if now := first + 4; l.Until() > now {
		t.Errorf("valid for %v more, and two of three lost the lock", l.Until().Sub(now))
	}
}

// A lease is disowned if answers "not yours" leave no quorum. Otherwise it has expired.
func TestDisownedCount(t *testing.T) {
	for _, x := range []struct {
		masters, lost int
		want          bool
	}{
		{1, 0, false}, {1, 1, true},
		{3, 1, false}, {3, 2, true},
		{4, 1, false}, {4, 2, true},
		{5, 2, false}, {5, 3, true}, {5, 5, true},
	} {
		l := leaseAt(testvotes.ViewOfAll(x.masters))
		for i := range x.lost {
			l.Masters[i].Lost = true
		}
		if got := l.Disowned(); got != x.want {
			t.Errorf("lost on %d of %d: %v, want %v", x.lost, x.masters, got, x.want)
		}
	}
}

// A lease of two votes is lost when one of the two masters answers "not yours", although the third master,
// whose answer is unknown, could complete a quorum.
func TestDisownedWhileValid(t *testing.T) {
	t.Parallel()
	const first = clock.Instant(time.Second)
	v := testvotes.ViewOfAll(3)
	granted := testvotes.Of("ggu")
	for i := range granted {
		granted[i].Sent, granted[i].Got = first, first
	}
	for _, x := range []struct {
		claim string
		now   clock.Instant
		want  bool
	}{
		{"while it runs", first + 1, true},
		{"its time had run out before", terms.ValidUntil(first), false},
	} {
		l := leaseAt(v)
		l.Acquire(granted, granted, terms, first)
		if l.Disowned() {
			t.Errorf("%s: it is disowned before", x.claim)
		}
		l.answer(0, ToExtend, testvotes.NotMine(x.now), terms, v)
		if l.Until() > x.now || l.Disowned() != x.want {
			t.Errorf("%s: it lasts until %v, and is disowned: %v, want %v", x.claim, time.Duration(l.Until()), l.Disowned(), x.want)
		}
	}
}

// No vote proves a lease beyond its limit.
func TestLeaseLimit(t *testing.T) {
	t.Parallel()
	const first = clock.Instant(time.Second)
	end := terms.ValidUntil(first)
	for limit, want := range map[clock.Instant]clock.Instant{0: end, end - 1: end - 1, end + 1: end} {
		l := leaseAt(testvotes.ViewOfAll(3))
		for i := range l.Masters {
			l.Masters[i].Until = end
		}
		if l.Limit = limit; l.Until() != want {
			t.Errorf("limited to %v, it lasts until %v, want %v", time.Duration(limit), time.Duration(l.Until()), time.Duration(want))
		}
	}
}

// An unanswered extend may have been executed. Then more of the ttl is left at the next extend.
// That is no clock jump. A refused extend was not executed.
func TestUnansweredExtendIsNotClockJump(t *testing.T) {
	const s = int64(time.Second)
	voted := func(at int64, answer script.Answer) script.Vote {
		return script.Vote{Answered: true, Answer: answer, Grant: 7, Sent: clock.Instant(at), Got: clock.Instant(at)}
	}
	done := voted(5*s, script.Granted)
	done.Remaining = terms.KeyTTL() - 4*time.Second // the rest of the ttl before the extend
	for _, x := range []struct {
		claim string
		first script.Vote
		want  script.Answer
	}{
		{"not answered", voted(5*s, script.Unknown), script.Granted},
		{"refused", voted(5*s, script.Refused), script.Refused},
		{"answered", done, script.Granted},
	} {
		v := testvotes.ViewOfAll(3)
		l := leaseAt(v)
		for i := range l.Masters {
			l.vote(i, voted(1*s, script.Granted), v)
		}
		l.answer(0, ToExtend, x.first, terms, v)
		next := voted(8*s, script.Granted)
		next.Remaining = terms.KeyTTL() - 3*time.Second
		if got := l.answer(0, ToExtend, next, terms, v); got.Answer != x.want {
			t.Errorf("%s: as much is left as if it had been done: %v (%v), want %v", x.claim, got.Answer, got.Err, x.want)
		}
	}
}

// After a master lost the lock, its expected expiry follows only from the repairs, answered or not: the
// longest counts.
func TestExpectedExpiryAfterRepairs(t *testing.T) {
	const s = int64(time.Second)
	short := quorum.TermsOf(10*time.Second, 0, 0.01)
	for _, x := range []struct {
		claim     string
		first     script.Answer // to a first repair, with a longer ttl
		remaining time.Duration // a second after the second repair, with the short ttl
		want      script.Answer
	}{
		{"only the second was done", script.Unknown, 9 * time.Second, script.Granted},
		{"the first was done, and not answered", script.Unknown, 27 * time.Second, script.Granted},
		{"both were answered", script.Granted, 27 * time.Second, script.Granted},
		{"both were answered, and less is left", script.Granted, 9 * time.Second, script.Refused},
		{"the first was refused", script.Refused, 9 * time.Second, script.Granted},
		{"the first was refused, and more is left", script.Refused, 27 * time.Second, script.Refused},
	} {
		v := testvotes.ViewOfAll(3)
		l := leaseAt(v)
		at := func(second int64, answer script.Answer) script.Vote {
			now := clock.Instant(second * s)
			return script.Vote{Answered: true, Answer: answer, Sent: now, Got: now}
		}
		for i := range l.Masters {
			l.vote(i, at(1, script.Granted), v)
		}
		gone := at(2, script.Refused)
		gone.Err = script.ErrNotMine
		l.answer(0, ToExtend, gone, terms, v)
		l.answer(0, ToRepair, at(3, x.first), terms, v)
		l.answer(0, ToRepair, at(5, script.Granted), short, v)
		next := at(6, script.Granted)
		next.Remaining = x.remaining
		if got := l.answer(0, ToExtend, next, short, v); got.Answer != x.want {
			t.Errorf("%s: %v (%v), want %v", x.claim, got.Answer, got.Err, x.want)
		}
	}
}

// history remembers all answers, and computes from scratch what they prove.
type history struct {
	events []event
	need   map[string]int // by version
}

type event struct {
	master  int
	version string
	until   clock.Instant // of a vote that counts
	no      clock.Instant // when the master answered "not yours"; 0: never
}

// until returns until when a quorum of unrevoked votes of one version counts, for the version that proves most.
func (h *history) until(masters int) (end clock.Instant) {
	for version, need := range h.need {
		votes := make([]clock.Instant, masters)
		for _, s := range h.events {
			switch {
			case s.no != 0:
				votes[s.master] = min(votes[s.master], s.no)
			case s.version == version:
				votes[s.master] = max(votes[s.master], s.until)
			}
		}
		slices.Sort(votes)
		end = max(end, votes[masters-need])
	}
	return end
}

// The lease is compared with a slow and simple reference. A lease never lasts longer than the answers prove, and
// exactly as long if no master answered "not yours". (A lease keeps the votes of one previous version: those that
// proved it longest when the version changed. After later answers, other versions might prove more.)
func TestLeaseMatchesReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(t, "masters")
		members := map[string]int{}
		for _, version := range []string{"1", "2", "3"} {
			members[version] = rapid.IntRange(1, 2*n-1).Draw(t, "members")
		}
		view := func(version string) *membership.View {
			v := testvotes.ViewOfAll(members[version])
			v.Version, v.Out = version, make([]error, n)
			return v
		}
		l := leaseAt(view("1"))
		h := &history{need: map[string]int{"1": l.Need}}
		now, latest, denied := clock.Instant(time.Second), "1", false
		votes := make([]script.Vote, n)
		for i := range votes {
			if i < l.Need || rapid.Bool().Draw(t, "granted") {
				votes[i] = script.Vote{Answered: true, Answer: script.Granted, Grant: 7, Sent: now, Got: now}
				h.events = append(h.events, event{master: i, version: "1", until: terms.ValidUntil(now)})
			}
		}
		l.Acquire(votes, votes, terms, now)
		for range rapid.IntRange(1, 40).Draw(t, "answers") {
			now = now.Add(time.Duration(rapid.IntRange(0, 12).Draw(t, "seconds")) * time.Second)
			if !now.Before(l.Until()) {
				break
			}
			sent := now.Add(-time.Duration(rapid.IntRange(0, 900).Draw(t, "trip")) * time.Millisecond)
			i := rapid.IntRange(0, n-1).Draw(t, "master")
			version := rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "version")
			answer := rapid.SampledFrom([]string{"yes", "yes", "yes", "unknown", "refused", "no"}).Draw(t, "answer")
			v := script.Vote{Answered: true, Answer: script.Granted, Grant: 7, Sent: sent, Got: now}
			switch answer {
			case "unknown":
				v = script.Vote{Answered: true, Answer: script.Unknown, Sent: sent, Got: now}
			case "refused":
				v = script.Vote{Answered: true, Answer: script.Refused, Err: script.ErrVersion, Sent: sent, Got: now}
			case "no":
				v, denied = testvotes.NotMine(now), true
				h.events = append(h.events, event{master: i, no: now})
			case "yes":
				if version >= latest {
					latest = version
					h.need[version] = quorum.MajorityOf(view(version)).Need
					h.events = append(h.events, event{master: i, version: version, until: terms.ValidUntil(sent)})
				}
			}
			l.answer(i, ToReenter, v, terms, view(version))
			is, proved := l.Until(), h.until(n)
			if is > proved {
				t.Fatalf("it lasts until %v, and the answers prove it until %v", time.Duration(is), time.Duration(proved))
			}
			if !denied && is != proved {
				t.Fatalf("it lasts until %v, and the answers prove it until %v", time.Duration(is), time.Duration(proved))
			}
		}
	})
}

// Answers after the end of a hold do not count.
func TestEndedLeaseStaysEnded(t *testing.T) {
	const s = clock.Instant(time.Second)
	view := testvotes.ViewOfAll(3)
	granted := func(at clock.Instant) script.Vote {
		return script.Vote{Answered: true, Answer: script.Granted, Grant: 7, Sent: at, Got: at}
	}
	for _, x := range []struct {
		claim string
		after time.Duration // since the acquisition
		over  bool
		want  bool // they count
	}{
		{"while it runs", 20 * time.Second, false, true},
		{"its owner has ended it", 20 * time.Second, true, false},
		{"its time has run out", 30 * time.Second, false, false},
	} {
		l := leaseAt(view)
		votes := []script.Vote{granted(s), granted(s), granted(s)}
		l.Acquire(votes, votes, terms, s)
		before, later := l.Until(), s.Add(x.after)
		for i := range 3 {
			l.Take(i, Answer{To: ToReenter, Vote: granted(later), Terms: terms, Now: later}, view, x.over)
		}
		if counted := l.Until() > before; counted != x.want {
			t.Errorf("%s: the answers count: %v", x.claim, counted)
		}
	}
}

// A master that failed in a renewal is asked again after a pause, unless the renewal cannot succeed.
func TestRenewalAskAgain(t *testing.T) {
	t.Parallel()
	const now, pause = clock.Instant(10 * time.Second), time.Second
	at := func(ago time.Duration) Master { return Master{Asked: now.Add(-ago)} }
	lost := at(time.Minute)
	lost.Lost = true
	none := func(int) bool { return false }
	for _, x := range []struct {
		claim   string
		masters []Master
		failed  []int
		repairs func(int) bool
		due     []int
		goesOn  bool
	}{
		{"none failed", []Master{at(0), at(0)}, nil, none, nil, true},
		{"asked a moment ago", []Master{at(pause - 1), at(0)}, []int{0}, none, nil, true},
		{"asked for so long", []Master{at(pause), at(0)}, []int{0}, none, []int{0}, true},
		{"one of two", []Master{at(0), at(2 * pause)}, []int{0, 1}, none, []int{1}, true},
		{"both", []Master{at(pause), at(2 * pause)}, []int{0, 1}, none, []int{0, 1}, true},
		{"a master that did not fail is not asked", []Master{at(time.Minute), at(pause)}, []int{1}, none, []int{1}, true},
		{"one lost the lock", []Master{at(time.Minute), lost}, []int{0, 1}, none, nil, false},
		{"one lost it, and answered", []Master{at(time.Minute), lost}, []int{0}, none, []int{0}, true},
		{"one was sent a repair", []Master{at(time.Minute), at(time.Minute)}, []int{0, 1}, func(i int) bool { return i == 1 }, nil, false},
		{"one was, and answered", []Master{at(time.Minute), at(time.Minute)}, []int{0}, func(i int) bool { return i == 1 }, []int{0}, true},
	} {
		l := Lease{Masters: slices.Clone(x.masters)}
		due, goesOn := l.askAgain(x.failed, x.repairs, now, pause)
		if !slices.Equal(due, x.due) || goesOn != x.goesOn {
			t.Errorf("%s: %v are asked again (%v), want %v (%v)", x.claim, due, goesOn, x.due, x.goesOn)
		}
		for i, m := range l.Masters {
			if asked := slices.Contains(x.due, i); asked != (m.Asked == now && x.masters[i].Asked != now) {
				t.Errorf("%s: that master %d is asked now is noted wrongly", x.claim, i)
			}
		}
	}
}
