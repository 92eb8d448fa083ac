package agent

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
)

// The ttl of a session.
const (
	defaultSession = 15 * time.Second
	minSession     = time.Second
	maxSession     = time.Hour
)

// session is the lease of a program with the agent.
type session struct {
	agent *Agent
	id    string
	ttl   time.Duration

	ctx    context.Context // of what is waited for; ends with the session
	cancel context.CancelFunc
	timer  *time.Timer

	mu      sync.Mutex
	until   clock.Instant // it never goes back: programs were told
	ended   bool
	entries map[string]*entry // locks that are held or waited for, by the id of the request
	past    past
	streams map[*stream]bool
}

// renew makes the session last for its ttl from now, unless it is over: a timer that is late does
// not make it longer.
func (s *session) renew() bool {
	s.mu.Lock()
	now := s.agent.now()
	if s.ended || !now.Before(s.until) {
		s.mu.Unlock()
		s.end("nothing was heard of its program")
		return false
	}
	if until := s.agent.latest(now.Add(s.ttl)); until.After(s.until) {
		s.until = until
	}
	s.mu.Unlock()
	return true
}

// check ends the session if it is over, and else looks again when it may be.
func (s *session) check() {
	s.mu.Lock()
	left := s.until.Sub(s.agent.now())
	if left > 0 && !s.ended {
		s.timer.Reset(left)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.end("nothing was heard of its program")
}

// end releases all locks of the session, in the background.
func (s *session) end(why string) {
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return
	}
	s.ended = true
	s.agent.work.Add(1) // before Close can see that the session is over
	defer s.agent.work.Done()
	held := s.entries
	s.entries = nil
	streams := s.streams
	s.streams = nil
	s.mu.Unlock()
	s.timer.Stop()
	for _, e := range held {
		if e.lock == nil { // whoever waits for it gives it back
			continue
		}
		s.agent.work.Go(func() { _ = e.lock.Unlock(context.Background()) }) // an observer tells
	}
	s.cancel()
	for stream := range streams {
		stream.put(event{Event: "ended", Detail: why})
		stream.close()
	}
	s.agent.forget(s)
	s.agent.config.Log.Info("session ended", "session", s.short(), "locks", len(held), "why", why)
}

// short tells sessions apart in logs. The whole id is what a program shows to use its locks.
func (s *session) short() string { return s.id[:6] }

// validFor is how long, from before its request was sent, a program may believe in what lasts until
// then and no longer than the session. A program's clock may be slower than the agent's by as much
// as a master's may be, by default. The caller holds s.mu.
func (s *session) validFor(until clock.Instant) time.Duration {
	left := min(until, s.until).Sub(s.agent.now())
	return max(left-left/100-2*time.Millisecond, 0).Truncate(time.Millisecond)
}

// drain ends what is waited for, and tells that the session will not last.
func (s *session) drain() {
	s.mu.Lock()
	for _, e := range s.entries {
		if e.lock == nil {
			e.cancel(errDraining)
		}
	}
	s.mu.Unlock()
	s.tell(event{Event: "draining"})
}

// tell sends an event to the streams of the session.
func (s *session) tell(e event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for stream := range s.streams {
		if !stream.put(e) { // too slow: it comes again, and is told all that is held
			delete(s.streams, stream)
			stream.close()
		}
	}
}

// entered is what s.mu must find: the session stands.
func (s *session) entered() error {
	if s.ended || !s.agent.now().Before(s.until) {
		return errNoSession
	}
	return nil
}

// sessionAnswer is what a program is told of its session.
type sessionAnswer struct {
	Session  string       `json:"session"`
	TTL      int64        `json:"ttl_ms"`
	ValidFor int64        `json:"valid_for_ms"`
	Draining bool         `json:"draining"`
	Locks    []lockAnswer `json:"locks"`
}

// answer is what the program is told. The clock is read last.
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
