package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/fence"
)

const (
	maxBody = 256 << 10 // 64 names of 1024 bytes, escaped
	maxID   = 128       // of a lock, in bytes

	// slow is the time in which a program must send a request, and in which it must receive an answer or an
	// event.
	slow = 10 * time.Second
)

// call handles a request: it returns the answer, to be sent as JSON, or an error.
type call func(r *http.Request) (any, error)

// routes returns the handler of all calls. openapi.json describes the calls, and a test compares it with this code.
func (a *Agent) routes() http.Handler {
	mux := a.calling
	for pattern, c := range a.calls() {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			answer, err := c(r)
			if err != nil {
				sendProblem(w, err)
				return
			}
			send(w, http.StatusOK, "application/json", answer)
		})
	}
	mux.HandleFunc("GET /v1/sessions/{session}/events", a.events)
	if a.config.Metrics != nil {
		mux.HandleFunc("GET /metrics", a.metrics)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		sendProblem(w, fmt.Errorf("%w: %s %s", errNoCall, r.Method, r.URL.Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !a.admitted(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			sendProblem(w, errUnauthorized)
			return
		}
		if err := readBody(w, r); err != nil {
			sendProblem(w, err)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// Probes returns a handler that serves only /livez, /readyz and /metrics, and needs no token. Serve it on a port of
// its own, because probes and Prometheus often cannot reach the socket of the programs.
func (a *Agent) Probes() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/livez", "/readyz", "/metrics":
			a.calling.ServeHTTP(w, r)
		default:
			sendProblem(w, fmt.Errorf("%w here: %s %s", errNoCall, r.Method, r.URL.Path))
		}
	})
}

// calls returns the calls that answer with JSON.
func (a *Agent) calls() map[string]call {
	return map[string]call{
		"GET /livez":  func(*http.Request) (any, error) { return map[string]bool{"live": true}, nil },
		"GET /readyz": a.ready,

		"POST /v1/sessions":                a.openSession,
		"POST /v1/sessions/{session}/keep": a.inSession(func(r *http.Request, s *session) (any, error) { return s.answer() }),
		"DELETE /v1/sessions/{session}":    a.closeSession,
		"PUT /v1/sessions/{session}/locks/{lock}": a.inSession(func(r *http.Request, s *session) (any, error) {
			var w want
			if err := read(r, &w); err != nil {
				return nil, err
			}
			if err := w.check(); err != nil {
				return nil, err
			}
			id, err := idOf(r)
			if err != nil {
				return nil, err
			}
			return s.lock(r.Context(), id, w)
		}),
		"GET /v1/sessions/{session}/locks/{lock}": a.inSession(func(r *http.Request, s *session) (any, error) { return s.look(r.PathValue("lock")) }),
		"POST /v1/sessions/{session}/locks/{lock}/extend": a.inSession(func(r *http.Request, s *session) (any, error) {
			var wanted struct {
				TTL int64 `json:"ttl_ms"`
			}
			if err := read(r, &wanted); err != nil {
				return nil, err
			}
			ttl, err := millis("ttl_ms", wanted.TTL, time.Millisecond, math.MaxInt64)
			if err != nil {
				return nil, err
			}
			return s.extend(r.Context(), r.PathValue("lock"), ttl)
		}),
		"DELETE /v1/sessions/{session}/locks/{lock}": a.inSession(func(r *http.Request, s *session) (any, error) {
			id, err := idOf(r)
			if err != nil {
				return nil, err
			}
			return s.unlock(id)
		}),

		"POST /v1/verify":  a.verify,
		"POST /v1/inspect": a.inspect,
	}
}

// inSession returns a call that renews the session of a request and passes it to c.
func (a *Agent) inSession(c func(r *http.Request, s *session) (any, error)) call {
	return func(r *http.Request) (any, error) {
		s, err := a.session(r.PathValue("session"))
		if err != nil {
			return nil, err
		}
		return c(r, s)
	}
}

func (a *Agent) openSession(r *http.Request) (any, error) {
	wanted := struct {
		TTL int64 `json:"ttl_ms"`
	}{defaultSession.Milliseconds()}
	if err := read(r, &wanted); err != nil {
		return nil, err
	}
	ttl, err := millis("ttl_ms", wanted.TTL, minSession, maxSession)
	if err != nil {
		return nil, err
	}
	s, err := a.open(ttl)
	if err != nil {
		return nil, err
	}
	a.config.Log.Info("session opened", "session", s.short(), "ttl", ttl)
	return s.answer()
}

// closeSession ends a session. A session that has already ended is no error, because the request may be
// a repeated one.
func (a *Agent) closeSession(r *http.Request) (any, error) {
	if s, err := a.session(r.PathValue("session")); err == nil {
		s.end("its program closed it")
	}
	return map[string]string{"state": "ended"}, nil
}

// ready returns an error if no lock can be acquired at present.
func (a *Agent) ready(r *http.Request) (any, error) {
	if a.draining() {
		return nil, errDraining
	}
	if err := a.client.Ready(r.Context()); err != nil {
		return nil, err
	}
	return map[string]bool{"ready": true}, nil
}

func (a *Agent) verify(r *http.Request) (any, error) {
	var about struct {
		Name  string      `json:"name"`
		Token fence.Token `json:"token"`
	}
	if err := read(r, &about); err != nil {
		return nil, err
	}
	verdict, err := a.client.Verify(r.Context(), about.Name, about.Token)
	if err != nil {
		return nil, err
	}
	return map[string]string{"name": about.Name, "token": about.Token.String(), "verdict": verdict.String()}, nil
}

// inspection is the answer with the holder of a lock.
type inspection struct {
	Name      string      `json:"name"`
	State     string      `json:"state"` // a value of admin.LockState
	Token     fence.Token `json:"token,omitzero"`
	Host      string      `json:"host"`
	PID       int         `json:"pid"`
	Program   string      `json:"program"` // as given to redlock.WithName; for a lock of an agent, the agent's own
	Remaining int64       `json:"remaining_ms"`
	Waiting   int         `json:"waiting"`
	Readers   int         `json:"readers"`
}

func (a *Agent) inspect(r *http.Request) (any, error) {
	var about struct {
		Name string `json:"name"`
	}
	if err := read(r, &about); err != nil {
		return nil, err
	}
	in, err := admin.Inspect(r.Context(), a.client, about.Name)
	if err != nil {
		return nil, err
	}
	q := in.Quorum
	return inspection{
		Name: in.Name, State: string(q.State), Token: q.Token, Host: q.Holder.Host, PID: q.Holder.PID, Program: q.Holder.Name,
		Remaining: q.Remaining.Milliseconds(), Waiting: q.Waiting, Readers: len(q.Readers),
	}, nil
}

// millis returns a duration that a request gives in milliseconds. It returns an error if the duration is below least or
// above most.
func millis(field string, n int64, least, most time.Duration) (time.Duration, error) {
	if n < least.Milliseconds() || n > most.Milliseconds() {
		return 0, badRequest(field, n, fmt.Sprintf("must be milliseconds, from %d to %d", least.Milliseconds(), most.Milliseconds()))
	}
	return duration(n), nil
}

func idOf(r *http.Request) (string, error) {
	id := r.PathValue("lock")
	if len(id) > maxID {
		return "", badRequest("id of the lock", fmt.Sprintf("of %d bytes", len(id)), fmt.Sprintf("must be at most %d bytes, for example 128 random bits in hex", maxID))
	}
	return id, nil
}

// readBody reads the whole body of a request, before any wait for a lock. So the read deadline (slow) does
// not cut such a wait short, and the server notices during the wait that the connection has ended.
func readBody(w http.ResponseWriter, r *http.Request) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(slow)) // fails only without a network, where no read waits
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})
	if tooLong, is := errors.AsType[*http.MaxBytesError](err); is {
		return badRequest("body", fmt.Sprintf("of more than %d bytes", tooLong.Limit), "must be shorter")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	r.Body = io.NopCloser(bytes.NewReader(text))
	return nil
}

// read decodes the body of a request into a value. An empty body counts as an empty object.
func read(r *http.Request, into any) error {
	text, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return err
	case len(text) == 0:
		return nil
	case !utf8.Valid(text):
		return badRequest("body", "(not shown)", "must be UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return badRequest("body", "(not shown)", "must be the JSON of this call: "+err.Error())
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return badRequest("body", "(not shown)", "must be one JSON object, with nothing behind it")
	}
	return nil
}

func sendProblem(w http.ResponseWriter, err error) {
	p := problemOf(err)
	send(w, p.Status, "application/problem+json", p)
}

func send(w http.ResponseWriter, status int, contentType string, answer any) {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(fmt.Sprintf("agent: %v", err)) // cannot happen: own types
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(slow))
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a program that did not get it repeats its request
}
