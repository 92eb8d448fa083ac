package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	maxStreams = 4                // of one session at a time
	streamRoom = 64               // events queued for a slow stream
	heartbeat  = 15 * time.Second // lets both sides notice a broken connection
)

// event reports a change of a session or of one of its locks.
type event struct {
	Event   string         `json:"event"` // "state", "held", "released", "lost", "draining" or "ended"
	Lock    string         `json:"lock,omitzero"`
	Names   []string       `json:"names,omitzero"`
	Problem *problem       `json:"problem,omitzero"`
	Detail  string         `json:"detail,omitzero"`
	State   *sessionAnswer `json:"state,omitzero"` // only in the first event
}

// stream is the connection of a program that receives events.
type stream struct {
	events chan event
	once   sync.Once
	over   chan struct{}
}

// put queues an event, and reports whether there was room for it.
func (s *stream) put(e event) bool {
	select {
	case s.events <- e:
		return true
	default:
		return false
	}
}

func (s *stream) close() { s.once.Do(func() { close(s.over) }) }

// listen registers a stream. The caller must call leave() with it. listen fails if the session has maxStreams streams.
func (s *session) listen() (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.entered(); err != nil {
		return nil, err
	}
	if len(s.streams) >= maxStreams {
		return nil, limited("streams of a session", maxStreams, "close one")
	}
	one := &stream{events: make(chan event, streamRoom), over: make(chan struct{})}
	s.streams[one] = true
	return one, nil
}

func (s *session) leave(one *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.streams, one)
}

// events sends the changes of a session as server-sent events, until the session or the connection ends. The first
// event has all locks of the session, so that a program that reconnects has missed nothing. Programs are safe without
// events: an event only reports early what the next answer would report. Events do not renew the session.
func (a *Agent) events(w http.ResponseWriter, r *http.Request) {
	s, err := a.session(r.PathValue("session"))
	var one *stream
	var state sessionAnswer
	if err == nil {
		one, err = s.listen()
	}
	if err == nil {
		defer s.leave(one)
		state, err = s.answer()
	}
	if err != nil {
		sendProblem(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	write := func(text string) bool {
		_ = control.SetWriteDeadline(time.Now().Add(slow))
		if _, err := fmt.Fprint(w, text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	send := func(e event) bool {
		text, err := json.Marshal(e)
		if err != nil {
			panic(fmt.Sprintf("agent: %v", err)) // cannot happen: own types
		}
		return write("event: " + e.Event + "\ndata: " + string(text) + "\n\n")
	}
	if !send(event{Event: "state", State: &state}) {
		return
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case e := <-one.events:
			if !send(e) {
				return
			}
		case <-one.over:
			if len(one.events) == 0 { // queued events are sent first
				return
			}
		case <-beat.C:
			if !write(": still here\n\n") {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}
