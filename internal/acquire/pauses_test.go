package acquire

import (
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/ask"
	"github.com/redlock-go/redlock/internal/script"
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
		{"to a bound", 20, ask.ErrNoQuorum, MaxPause},
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
		want  time.Duration
	}{
		{"split: who is next will be called", held(0, script.Vote{Answer: script.Granted}), ms(400), ms(400)},
		{"until the end of the lease", held(ms(300)), 0, ms(301)},
		{"at the most", held(ms(30000)), 0, AskInterval},
		{"asked in vain: not more often", held(ms(10)), ms(400), ms(400)},
	} {
		if got, held := calledPause(x.err, x.quiet, AskInterval); got != x.want || !held {
			t.Errorf("called, %s: %v, %v; want %v", x.claim, got, held, x.want)
		}
	}
	if _, held := calledPause(&ask.Failure{Reason: ask.ErrNoQuorum}, 0, AskInterval); held {
		t.Error("nobody holds the lock when there is no quorum")
	}
}
