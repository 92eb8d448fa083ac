package agent

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/harness"
)

// onSession runs a test on a session of an agent in virtual time.
func onSession(t *testing.T, test func(t *testing.T, a *Agent, s *session)) {
	t.Helper()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a := New(d.Client(), Config{})
		t.Cleanup(a.Close)
		s, err := a.open(time.Minute)
		harness.Must(t, err)
		test(t, a, s)
	})
}

// From the moment that a drain has its deadline, no session gets a new lock, even if a request is already under way.
func TestRequestBesideDrain(t *testing.T) {
	onSession(t, func(t *testing.T, a *Agent, s *session) {
		var begins atomic.Bool
		now := a.now
		a.now = func() clock.Instant {
			if begins.CompareAndSwap(true, false) { // the request has begun
				a.mu.Lock()
				a.deadline = now().Add(time.Hour)
				a.mu.Unlock()
			}
			return now()
		}
		begins.Store(true)
		if _, err := s.lock(t.Context(), "a", want{Names: []string{"job"}, Mode: modeWrite}); !errors.Is(err, errDraining) {
			t.Errorf("got %v, want %v", err, errDraining)
		}
	})
}
