package waitqueue

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// The middle one of the clocks decides, and two clients that ask one after the other get tickets in
// that order, whatever a minority of clocks shows.
func TestTicketsFollowTheMiddleClock(t *testing.T) {
	t.Parallel()
	const took = clock.Instant(8 * time.Millisecond)
	for _, x := range []struct {
		claim string
		told  []int64 // by each master, at once
		want  string  // 250 ms later
	}{
		{"they agree", []int64{2e15, 2e15, 2e15, 2e15, 2e15}, "2000000000250000"},
		{"two are far ahead", []int64{9e15, 2e15, 2e15, 9e15, 2e15}, "2000000000250000"},
		{"a quorum answered", []int64{2e15, 0, 2e15, 2e15, 0}, "2000000000250000"},
		{"a minority answered", []int64{2e15, 2e15, 0, 0, 0}, askTime},
	} {
		m := NewTickets(5, 3)
		for i, us := range x.told {
			if us == 0 {
				continue // no answer
			}
			m.Learn(i, Answer{Time: us + 4_000, Sent: 0, Got: took}) // the middle of what it allows
		}
		if got := m.Next(clock.Instant(firstRelearn / 2)).String(); got != x.want {
			t.Errorf("%s: ticket %s, want %s", x.claim, got, x.want)
		}
		if got := m.Next(took.Add(firstRelearn)).String(); got != askTime {
			t.Errorf("%s: ticket %s of an old reading", x.claim, got)
		}
	}
}

// A client whose list has more masters than the deployment has members gets its tickets from a
// quorum of these.
func TestTicketsOfMembers(t *testing.T) {
	t.Parallel()
	m := NewTickets(6, 4)
	for i := range 2 {
		m.Learn(i, Answer{Time: 2e15, Sent: 1, Got: 1})
	}
	if got := m.Next(2); got.Known() {
		t.Errorf("two of six gave %v", got)
	}
	m.SetQuorum(2)
	if got := m.Next(2); !got.Known() {
		t.Error("two of three members gave none")
	}
}

// Of three masters two answer in time, and one of those is wrong: what the third has said before
// tells which.
func TestOneClockOfThreeDecidesNoTicket(t *testing.T) {
	t.Parallel()
	said := func(us int64, at clock.Instant) Answer {
		return Answer{Time: us + time.Duration(at).Microseconds(), Sent: at, Got: at}
	}
	for _, wrong := range []int64{1e15, 3e15} {
		m := NewTickets(3, 2)
		m.Learn(2, said(2e15, 1))
		later := clock.Instant(2 * firstRelearn)
		m.Learn(0, said(wrong, later))
		m.Learn(1, said(2e15, later))
		if got, want := m.Next(later).String(), "2000000001000000"; got != want {
			t.Errorf("one says %d: ticket %s, want %s", wrong, got, want)
		}
	}
}

// What a client knows of a master's clock gets no worse by an answer that took long, is not asked
// for more and more often, and follows a clock that is set.
func TestReadingsGetBetter(t *testing.T) {
	t.Parallel()
	ms := func(n int64) clock.Instant { return clock.Instant(n) * clock.Instant(time.Millisecond) }
	answer := func(sent, got, tells int64) Answer {
		return Answer{Time: tells * 1000, Sent: ms(sent), Got: ms(got)}
	}
	const ahead = 5_000_000
	for _, x := range []struct {
		claim       string
		answers     []Answer
		least, most int64 // ms
		every       time.Duration
	}{
		{"one answer tells as well as it was fast", []Answer{answer(10, 30, ahead+20)}, ahead - 10, ahead + 10, firstRelearn},
		{"a faster one tells better", []Answer{answer(10, 30, ahead+20), answer(40, 42, ahead+41)}, ahead - 1, ahead + 1, 2 * firstRelearn},
		{"a slower one takes nothing away", []Answer{answer(10, 12, ahead+11), answer(20, 90, ahead+50)}, ahead - 1, ahead + 1, 2 * firstRelearn},
		{"two tell more than each", []Answer{answer(10, 30, ahead+12), answer(40, 60, ahead+58)}, ahead - 2, ahead + 2, 2 * firstRelearn},
		{"a clock that is set is followed", []Answer{answer(10, 12, ahead+11), answer(20, 22, 2*ahead+21)}, 2*ahead - 1, 2*ahead + 1, firstRelearn},
	} {
		var r reading
		for _, v := range x.answers {
			r = r.refined(v)
		}
		const fractions = 20 // us, and what the clocks run apart
		near := func(got, want int64) bool { return got >= want*1000-fractions && got <= want*1000+fractions }
		if !near(r.least, x.least) || !near(r.most, x.most) || r.every != x.every {
			t.Errorf("%s: %+v, want %d to %d ms, again after %v", x.claim, r, x.least, x.most, x.every)
		}
	}
	var r reading
	for range 20 {
		r = r.refined(answer(10, 10, ahead+10))
	}
	if r.every != relearn {
		t.Errorf("asked for every %v in the end, want %v", r.every, relearn)
	}
}
