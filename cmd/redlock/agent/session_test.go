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

// Whenever a session has a lock, its streams have the event "held": the event "released" cannot come before.
func TestHeldIsPublishedFirst(t *testing.T) {
	onSession(t, func(t *testing.T, a *Agent, s *session) {
		for range 50 {
			stream, err := s.listen()
			harness.Must(t, err)
			got := make(chan error, 1)
			go func() {
				_, err := s.lock(t.Context(), "a", want{Names: []string{"job"}, Mode: modeWrite})
				got <- err
			}()
			for held := false; !held; {
				for !s.mu.TryLock() { // gets the mutex as soon as it is free
				}
				e := s.entries["a"]
				if held = e != nil && e.lock != nil; held && len(stream.events) == 0 {
					t.Error("a lock is held without an event")
				}
				s.mu.Unlock()
			}
			harness.Must(t, <-got)
			s.leave(stream)
			_, err = s.unlock("a")
			harness.Must(t, err)
			s.past = past{} // so that the id may be used again
		}
	})
}
