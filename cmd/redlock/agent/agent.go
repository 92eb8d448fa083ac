package agent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/core"
)

// Config configures an Agent. The zero value has all defaults.
type Config struct {
	// If Token is not "", a request must have the header "Authorization: Bearer TOKEN", unless it is a
	// probe (/livez or /readyz).
	Token string

	MaxSessions int // sessions that are open at a time; default 1000
	MaxLocks    int // locks that one session holds or waits for at a time; default 1000
	MaxWaiters  int // locks that all sessions wait for at a time; default 1000

	Log     *slog.Logger // logs sessions and their ends; nil: nothing is logged
	Metrics *Metrics     // served at /metrics; nil: nothing is served there
}

// Agent is an http.Handler that holds locks for the programs that call it.
type Agent struct {
	client  *redlock.Client
	config  Config
	token   [sha256.Size]byte
	now     func() clock.Instant // the client's clock
	calling *http.ServeMux       // serves the requests that were admitted
	handler http.Handler

	mu       sync.Mutex
	sessions map[string]*session
	deadline clock.Instant // no session lasts beyond it; 0: the agent does not drain
	closed   bool
	empty    chan struct{} // closed when the agent drains and no session is left

	waiting atomic.Int64
	work    sync.WaitGroup
}

// New returns an Agent that locks with client, which the caller still has to close. The client's default
// options apply to the Agent's locks.
func New(client *redlock.Client, cfg Config) *Agent {
	orDefault := func(n *int, value int) {
		if *n <= 0 {
			*n = value
		}
	}
	orDefault(&cfg.MaxSessions, 1000)
	orDefault(&cfg.MaxLocks, 1000)
	orDefault(&cfg.MaxWaiters, 1000)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{
		client: client, config: cfg, token: sha256.Sum256([]byte(cfg.Token)),
		now:      redlock.Inside(core.Key{}).Client(context.Background(), client).Now,
		sessions: map[string]*session{}, empty: make(chan struct{}), calling: http.NewServeMux(),
	}
	a.handler = a.routes()
	return a
}

// ServeHTTP handles one request.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Drain makes the Agent refuse new sessions and locks, sends the event "draining" to the sessions, and waits until no
// session is left or ctx has ended. The first call sets the deadline: the present time plus patience. From then on, no
// request renews a session beyond the deadline. So all sessions with a ttl below patience end by the deadline. Drain
// returns the number of sessions that still hold locks.
//
// If it is not 0, do not close the Agent or the client: Close would release locks on which programs may still count. End
// the process instead, so that these locks expire.
func (a *Agent) Drain(ctx context.Context, patience time.Duration) (left int) {
	a.mu.Lock()
	if a.deadline == 0 {
		a.deadline = a.now().Add(patience)
		a.noneLeft()
	}
	sessions := a.all()
	a.mu.Unlock()
	for _, s := range sessions {
		s.drain()
	}
	select {
	case <-a.empty:
	case <-ctx.Done():
	}
	a.mu.Lock()
	sessions = a.all()
	a.mu.Unlock()
	for _, s := range sessions {
		if s.holds() {
			left++
		}
	}
	return left
}

// Close ends all sessions and releases their locks, even if programs still count on them. It waits for
// the agent's goroutines.
func (a *Agent) Close() {
	a.mu.Lock()
	a.closed = true
	sessions := a.all()
	a.mu.Unlock()
	for _, s := range sessions {
		s.end("the agent was closed")
	}
	a.work.Wait()
}

// all returns the sessions. The caller must hold a.mu.
func (a *Agent) all() []*session {
	var all []*session
	for _, s := range a.sessions {
		all = append(all, s)
	}
	return all
}

// noneLeft makes Drain return if no session is left. The caller must hold a.mu.
func (a *Agent) noneLeft() {
	if a.deadline == 0 || len(a.sessions) > 0 {
		return
	}
	select {
	case <-a.empty:
	default:
		close(a.empty)
	}
}

// draining reports whether the agent refuses new locks.
func (a *Agent) draining() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.deadline != 0 || a.closed
}

// latest limits the end of a session to the end of the drain.
func (a *Agent) latest(until clock.Instant) clock.Instant {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.deadline != 0 && until.After(a.deadline) {
		return a.deadline
	}
	return until
}

func (a *Agent) open(ttl time.Duration) (*session, error) {
	s := &session{agent: a, id: rand.Text(), ttl: ttl, entries: map[string]*entry{}, streams: map[*stream]bool{}}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.deadline != 0 || a.closed:
		return nil, errDraining
	case len(a.sessions) >= a.config.MaxSessions:
		return nil, limited("sessions", a.config.MaxSessions, "close some, or wait for their end")
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.until = a.now().Add(ttl)
	s.timer = time.AfterFunc(ttl, s.check)
	a.sessions[s.id] = s
	return s, nil
}

// session renews and returns the session with the id.
func (a *Agent) session(id string) (*session, error) {
	a.mu.Lock()
	s := a.sessions[id]
	a.mu.Unlock()
	if s == nil || !s.renew() {
		return nil, errNoSession
	}
	return s, nil
}

// forget removes a session that has ended.
func (a *Agent) forget(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, s.id)
	a.noneLeft()
}

// admitted reports whether a request has the token or needs no token. It takes the same time for every wrong token.
func (a *Agent) admitted(r *http.Request) bool {
	if a.config.Token == "" || r.URL.Path == "/livez" || r.URL.Path == "/readyz" {
		return true
	}
	given, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	hash := sha256.Sum256([]byte(given))
	return is && subtle.ConstantTimeCompare(hash[:], a.token[:]) == 1
}
