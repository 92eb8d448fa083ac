package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/cmd/redlock/agent"
	"github.com/redlock-go/redlock/internal/harness"
)

func TestMain(m *testing.M) { harness.Run(m) }

// caller calls an agent without a network.
type caller struct {
	t     *testing.T
	agent http.Handler
}

func newAgent(t *testing.T, d *harness.Deployment, cfg agent.Config, opts ...redlock.Option) (*agent.Agent, caller) {
	t.Helper()
	a := agent.New(d.Client(opts...), cfg)
	t.Cleanup(a.Close)
	return a, caller{t, a}
}

// onAgent runs a test on an agent in virtual time, in parallel with others.
func onAgent(t *testing.T, cfg agent.Config, test func(t *testing.T, d *harness.Deployment, a *agent.Agent, c caller)) {
	t.Helper()
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, c := newAgent(t, d, cfg)
		test(t, d, a, c)
	})
}

// answer is the response to a call.
type answer struct {
	Status int
	Header http.Header
	Body   string

	Type      string
	Detail    string
	Retryable bool

	Session  string
	ID       string
	State    string
	Names    []string
	Mode     string
	Token    string
	Tokens   map[string]string
	ValidFor int64 `json:"valid_for_ms"`
	FreeIn   int64 `json:"free_in_ms"`
	Freed    bool
	Draining bool
	Locks    []struct{ ID, Token string }
	Verdict  string
}

func (c caller) call(method, path, body string) answer {
	c.t.Helper()
	w := httptest.NewRecorder()
	c.agent.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	a := answer{Status: w.Code, Header: w.Header(), Body: w.Body.String()}
	if strings.HasSuffix(w.Header().Get("Content-Type"), "json") {
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			c.t.Errorf("%s %s: %v", method, path, err)
		}
	}
	return a
}

// callIn makes a call on a connection that ends with ctx.
func callIn(ctx context.Context, c caller, method, path, body string) {
	c.agent.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body)))
}

// callWith makes a call with an Authorization header.
func callWith(c caller, authorization, method, path string) answer {
	c.t.Helper()
	signed := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		c.agent.ServeHTTP(w, r)
	})
	return caller{c.t, signed}.call(method, path, "")
}

// does makes a call, and requires success.
func (c caller) does(method, path, body string) answer {
	c.t.Helper()
	a := c.call(method, path, body)
	if a.Status != http.StatusOK {
		c.t.Fatalf("%s %s %s: %d %s", method, path, body, a.Status, a.Body)
	}
	return a
}

// fails makes a call, and requires a problem of this type.
func (c caller) fails(method, path, body, word string) answer {
	c.t.Helper()
	a := c.call(method, path, body)
	if !strings.HasSuffix(a.Type, "#"+word) || a.Status < 400 || a.Header.Get("Content-Type") != "application/problem+json" {
		c.t.Fatalf("%s %s %s: %d %s, want a problem %q", method, path, body, a.Status, a.Body, word)
	}
	return a
}

// open returns the path of a new session.
func (c caller) open(ttl time.Duration) string {
	c.t.Helper()
	return "/v1/sessions/" + c.does("POST", "/v1/sessions", fmt.Sprintf(`{"ttl_ms": %d}`, ttl.Milliseconds())).Session
}

func (a answer) validFor() time.Duration { return time.Duration(a.ValidFor) * time.Millisecond }
