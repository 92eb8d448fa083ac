package waitqueue

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// The median clock decides: clients that ask one after the other get tickets in that order, whatever a minority
// of clocks shows.
func TestTicketUsesMedianClock(t *testing.T) {
	t.Parallel()
	const took = clock.Instant(8 * time.Millisecond)
	for _, x := range []struct {
		claim  string
		clocks []int64 // of each master, at the same moment
		want   string  // 250 ms later
	}{
		{"they agree", []int64{2e15, 2e15, 2e15, 2e15, 2e15}, "2000000000250000"},
		{"two are far ahead", []int64{9e15, 2e15, 2e15, 9e15, 2e15}, "2000000000250000"},
		{"a quorum answered", []int64{2e15, 0, 2e15, 2e15, 0}, "2000000000250000"},
		{"a minority answered", []int64{2e15, 2e15, 0, 0, 0}, askTime},
	} {
		m := NewTickets(5, 3)
		for i, us := range x.clocks {
			if us == 0 {
				continue // no answer
			}
			m.Learn(i, Reply{Time: us + 4_000, Sent: 0, Got: took}) // the middle of the range that the reply allows
		}
		if got := m.Next(clock.Instant(firstRelearn / 2)).String(); got != x.want {
			t.Errorf("%s: ticket %s, want %s", x.claim, got, x.want)
		}
		if got := m.Next(took.Add(firstRelearn)).String(); got != askTime {
			t.Errorf("%s: ticket %s of an old reading", x.claim, got)
		}
	}
}

// Two of three masters answer in time, and the clock of one of them is wrong: an earlier answer of
// the third decides which of the two clocks is wrong.
func TestOneClockDoesNotDecideTicket(t *testing.T) {
	t.Parallel()
	replyAt := func(us int64, at clock.Instant) Reply {
		return Reply{Time: us + time.Duration(at).Microseconds(), Sent: at, Got: at}
	}
	for _, wrong := range []int64{1e15, 3e15} {
		m := NewTickets(3, 2)
		m.Learn(2, replyAt(2e15, 1))
		later := clock.Instant(2 * firstRelearn)
		m.Learn(0, replyAt(wrong, later))
		m.Learn(1, replyAt(2e15, later))
		if got, want := m.Next(later).String(), "2000000001000000"; got != want {
			t.Errorf("one clock is %d: ticket %s, want %s", wrong, got, want)
		}
	}
}

// A later answer narrows the range of a reading, unless it contradicts the reading.
func TestReadingRefined(t *testing.T) {
	t.Parallel()
	at := func(seconds float64) clock.Instant { return clock.Instant(seconds * float64(time.Second)) }
	// A round trip of 2 s that ends at 10 s. The master replies that it is ahead by 99 to 101 s.
	answer := Reply{Time: 109e6, Sent: at(8), Got: at(10)}
	const most = 101e6
	for _, x := range []struct {
		claim       string
		before      reading
		least, most int64
		every       time.Duration
	}{
		{"nothing was known", reading{}, 99e6, most, firstRelearn},
		{"the reading is wider", reading{50e6, 150e6, at(10), firstRelearn}, 99e6, most, 2 * firstRelearn},
		{"it is narrower, and of the same time", reading{100e6, 100e6, at(10), firstRelearn}, 100e6 - 1, 100e6 + 1, 2 * firstRelearn},
		{"it is of 10 s ago, in which clocks drift by 1 ms", reading{100e6, 100e6, at(0), firstRelearn}, 100e6 - 1001, 100e6 + 1001, 2 * firstRelearn},
		{"they have one value in common", reading{most + 1, most + 9, at(10), firstRelearn}, most, most, 2 * firstRelearn},
		{"the clock was set back", reading{most + 2, most + 9, at(10), relearn}, 99e6, most, firstRelearn},
		{"the clock was set forward", reading{90e6, 99e6 - 2, at(10), relearn}, 99e6, most, firstRelearn},
		{"the interval is the longest", reading{99e6, most, at(10), relearn}, 99e6, most, relearn},
	} {
		if got, want := x.before.refined(answer), (reading{x.least, x.most, at(10), x.every}); got != want {
			t.Errorf("%s: %+v, want %+v", x.claim, got, want)
		}
	}
}

func TestTicketBefore(t *testing.T) {
	unknown, early, late, latest := Ticket{}, TicketOf("998"), TicketOf("999"), TicketOf("1000")
	for _, x := range []struct {
		a, b Ticket
		want bool
	}{
		{unknown, unknown, false}, {unknown, early, false}, {early, unknown, true}, {early, early, false},
		{early, late, true}, {late, early, false}, {late, latest, true}, {latest, late, false},
	} {
		if got := x.a.Before(x.b); got != x.want {
			t.Errorf("%v before %v: %v", x.a, x.b, got)
		}
	}
}
