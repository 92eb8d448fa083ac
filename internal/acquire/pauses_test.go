package acquire

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/script"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

func TestRetryPause(t *testing.T) {
	t.Parallel()
	held := func(free time.Duration, votes ...script.Vote) error {
		return &ask.Failure{Reason: ask.ErrHeld, FreeIn: free, Votes: votes}
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	for _, x := range []struct {
		claim string
		try   int
		err   error
		want  time.Duration // without the random half
	}{
		{"nothing known: doubles", 2, ask.ErrNoQuorum, 4 * minPause},
		{"to a bound", 20, ask.ErrNoQuorum, waitqueue.MaxPause},
		{"not beyond the end of the lease", 20, held(ms(50)), ms(51)},
		{"split votes start low", 0, held(0, script.Vote{Answer: script.Granted}), splitPause},
	} {
		if got := retryPause(x.try, x.err, 1); got != x.want {
			t.Errorf("%s: %v, want %v", x.claim, got, x.want)
		}
	}
	for _, x := range []struct {
		claim string
		err   error
		quiet time.Duration
		place int
		want  time.Duration
	}{
		{"split: the next will be called", held(0, script.Vote{Answer: script.Granted}), ms(400), 0, ms(400)},
		{"until the end of the lease", held(ms(300)), 0, 1, ms(301)},
		{"at the most", held(ms(30000)), 0, 0, AskInterval},
		{"asked without success: not more often", held(ms(10)), ms(400), 1, ms(400)},
		{"not the first: whatever the lease", held(ms(300)), 0, 2, AskInterval},
		{"kept for an absent waiter", held(ms(200)), ms(400), script.Kept, ms(201)},
	} {
		if got, held := calledPause(x.err, x.quiet, AskInterval, x.place); got != x.want || !held {
			t.Errorf("called, %s: %v, %v; want %v", x.claim, got, held, x.want)
		}
	}
	if _, held := calledPause(&ask.Failure{Reason: ask.ErrNoQuorum}, 0, AskInterval, 0); held {
		t.Error("nobody holds the lock when there is no quorum")
	}
}

// A queued waiter asks again after one second for each place before it. The place is the one that a
// quorum reports. The first waiter, and waiters far behind, ask seldom.
func TestQueuedWaiterPause(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		places      []int // by the masters that refused; three are a quorum
		least, most time.Duration
	}{
		{[]int{1, 1, 1, 1, 1}, 17 * time.Second, 20 * time.Second},
		{[]int{2, 2, 2, 2, 2}, 800 * time.Millisecond, time.Second},
		{[]int{2, 2, 2, 9, 9}, 800 * time.Millisecond, time.Second},
		{[]int{1, 1, 4, 4, 4}, 2600 * time.Millisecond, 3 * time.Second},
		{[]int{4, 4, 4}, 2600 * time.Millisecond, 3 * time.Second},
		{[]int{0, 0, 0}, 17 * time.Second, 20 * time.Second},
		{[]int{21, 21, 21}, 17 * time.Second, 20 * time.Second},
	} {
		f := &ask.Failure{Reason: ask.ErrHeld, Need: 3}
		for _, p := range x.places {
			f.Votes = append(f.Votes, script.Vote{Answer: script.Held, Place: p})
		}
		if most := queuedPause(0, placeOf(f), 0.999); most > x.most {
			t.Errorf("at %v it asks after %v, want %v at most", x.places, most, x.most)
		}
		if least := queuedPause(0, placeOf(f), 0); least < x.least {
			t.Errorf("at %v it asks after %v, want %v at least", x.places, least, x.least)
		}
	}
	mean := queuedPause(0, script.LastPlace, 0.5)
	if asks := 10_000 / mean.Seconds(); asks > 550 {
		t.Errorf("10 000 in line ask %.0f times a second", asks)
	}
}
