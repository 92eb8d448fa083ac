package agent

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// The bounds of the ttl of a session, and its default.
const (
	defaultSession = 15 * time.Second
	minSession     = time.Second
	maxSession     = time.Hour
)

// session is a program's lease with the agent.
type session struct {
	agent *Agent
	id    string
	ttl   time.Duration

	ctx    context.Context // the parent of all waits; ends with the session
	cancel context.CancelCauseFunc
	timer  *time.Timer

	mu      sync.Mutex
	until   clock.Instant // never decreases: programs count on it
	ended   bool
	entries map[string]*entry // held or waited for, by the id of the request
	past    past
	streams map[*stream]bool
}

// renew makes the session last for its ttl from now, but not beyond the deadline of a drain. It returns false if the
// session is over. A session that is over stays over, even if its timer fires late.
func (s *session) renew() bool {
	s.mu.Lock()
	now := s.agent.now()
	if s.ended || !now.Before(s.until) {
		s.mu.Unlock()
		s.end("no request of its program came in time")
		return false
	}
	if until := s.agent.latest(now.Add(s.ttl)); until.After(s.until) {
		s.until = until
	}
	s.mu.Unlock()
	return true
}

// check ends the session if it is over, and otherwise sets the timer again.
func (s *session) check() {
	s.mu.Lock()
	left := s.until.Sub(s.agent.now())
	if left > 0 && !s.ended {
		s.timer.Reset(left)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.end("no request of its program came in time")
}

// end ends the session, and releases its locks in the background.
func (s *session) end(why string) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	s.cancel(errNoSession)
	s.agent.work.Add(1) // before Close can see that the session has ended
	defer s.agent.work.Done()
	held := s.entries
	s.entries = nil
	streams := s.streams
	s.streams = nil
	s.mu.Unlock()
	s.timer.Stop()
	for _, e := range held {
		if e.lock == nil { // session.wait releases it, if it is acquired
			continue
		}
		s.agent.work.Go(func() { _ = e.lock.Unlock(context.Background()) }) // the observer reports errors
	}
	for stream := range streams {
		stream.put(event{Event: "ended", Detail: why})
		stream.close()
	}
	s.agent.forget(s)
	s.agent.config.Log.Info("session ended", "session", s.short(), "locks", len(held), "why", why)
}

// short returns the first six characters of the id, for logs. The whole id gives access to the session's locks.
func (s *session) short() string { return s.id[:6] }

// validFor returns how long a program may count on a lock: until the lease ends (at the given time), or until the
// session ends if that is earlier. The program counts from just before it sent its request. The result allows for a
// program whose clock is slow by the default drift. The caller must hold s.mu.
func (s *session) validFor(until clock.Instant) time.Duration {
	left := min(until, s.until).Sub(s.agent.now())
	return max(left-left/100-2*time.Millisecond, 0).Truncate(time.Millisecond)
}

// drain ends the waits of the session, and sends the event "draining".
func (s *session) drain() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.lock == nil {
			e.cancel(errDraining)
		}
	}
	s.publish(event{Event: "draining"})
}

// holds reports whether the session holds a lock. After drain, a wait of the session no longer gets one.
func (s *session) holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entries {
		if e.lock != nil {
			return true
		}
	}
	return false
}

// publish sends an event to the streams of the session. The caller must hold s.mu. For the events held and
// lost, it must not have released s.mu since it changed the entry: so these events have the order of the changes.
func (s *session) publish(e event) {
	for stream := range s.streams {
		if !stream.put(e) { // this program is too slow: it gets all locks when it reconnects
			delete(s.streams, stream)
			stream.close()
		}
	}
}

// entered returns an error if the session has ended. The caller must hold s.mu.
func (s *session) entered() error {
	if s.ended || !s.agent.now().Before(s.until) {
		return errNoSession
	}
	return nil
}

// sessionAnswer is the answer with the state of a session.
type sessionAnswer struct {
	Session  string       `json:"session"`
	TTL      int64        `json:"ttl_ms"`
	ValidFor int64        `json:"valid_for_ms"`
	Draining bool         `json:"draining"`
	Locks    []lockAnswer `json:"locks"`
}

// answer returns the state of the session. It reads the clock last.
func (s *session) answer() (sessionAnswer, error) {
	a := sessionAnswer{Session: s.id, TTL: s.ttl.Milliseconds(), Draining: s.agent.draining(), Locks: []lockAnswer{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.entered(); err != nil {
		return a, err
	}
	for _, e := range s.entries {
		if l, err := s.describe(e); err == nil {
			a.Locks = append(a.Locks, l)
		}
	}
	a.ValidFor = s.validFor(s.until).Milliseconds()
	return a, nil
}
