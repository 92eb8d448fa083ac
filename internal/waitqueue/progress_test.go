package waitqueue

import (
	"testing"
	"time"
)

// Which calls are followed at once, and how long the others wait.
func TestCallPause(t *testing.T) {
	const quorum = 3
	for _, x := range []struct {
		claim         string
		calls         int
		byFew, misled int
		want          time.Duration
	}{
		{"not called", 0, 9, 9, 0},
		{"called by a quorum", 3, 0, 0, 0},
		{"… by more", 5, 0, 0, 0},
		{"… whatever some masters did before", 3, 9, 0, 0},
		{"… once in vain", 3, 0, 1, 0},
		{"… twice in vain", 3, 0, 2, gatherPause},
		{"… three times", 3, 0, 3, 2 * gatherPause},
		{"… always", 3, 0, 1000, maxGatherPause},
		{"called by some", 2, 0, 0, gatherPause},
		{"… once in vain", 1, 1, 0, 2 * gatherPause},
		{"… always", 1, 1000, 0, maxGatherPause},
	} {
		p := &Progress{CalledByFew: x.byFew, FalseCalls: x.misled}
		if got := p.CallPause(x.calls, quorum); got != x.want {
			t.Errorf("%s: %v, want %v", x.claim, got, x.want)
		}
	}
	p := &Progress{}
	for _, x := range []struct{ calls, byFew, misled int }{
		{1, 1, 0}, {2, 2, 0}, {3, 0, 1}, {1, 1, 1}, {4, 0, 2}, {0, 0, 0},
	} {
		if p.Failed(x.calls, quorum); p.CalledByFew != x.byFew || p.FalseCalls != x.misled {
			t.Errorf("called by %d in vain: %d and %d, want %d and %d", x.calls, p.CalledByFew, p.FalseCalls, x.byFew, x.misled)
		}
	}
}
