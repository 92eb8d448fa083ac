package agent_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/cmd/redlock/agent"
	"github.com/redlock-go/redlock/internal/harness"
)

// listener reads the events of a session.
type listener struct {
	t      *testing.T
	events chan listened
}

type listened struct {
	Event   string
	Lock    string
	Problem struct{ Type string }
	State   answer
}

// listen requests the events of a session. It reads the answer through a pipe instead of a connection.
func listen(t *testing.T, c caller, session string) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan struct{}, 2)
	go func() {
		c.agent.ServeHTTP(&piped{in, http.Header{}}, httptest.NewRequestWithContext(ctx, "GET", session+"/events", nil))
		in.Close()
		ended <- struct{}{}
	}()
	l := &listener{t, make(chan listened, 1000)}
	go func() {
		defer func() { close(l.events); ended <- struct{}{} }()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
				var e listened
				harness.Check(t, json.Unmarshal([]byte(data), &e))
				l.events <- e
			}
		}
	}()
	t.Cleanup(func() { cancel(); out.Close(); <-ended; <-ended })
	return l
}

type piped struct {
	io.Writer
	header http.Header
}

func (p *piped) Header() http.Header { return p.header }
func (p *piped) WriteHeader(int)     {}
func (p *piped) FlushError() error   { return nil }

// next returns the next event, which must be of this kind.
func (l *listener) next(event string) listened {
	l.t.Helper()
	select {
	case e, open := <-l.events:
		if e.Event != event || !open {
			l.t.Fatalf("got %+v, want %q", e, event)
		}
		return e
	case <-time.After(harness.Patience):
		l.t.Fatalf("no event %q", event)
	}
	return listened{}
}

func (l *listener) over() {
	l.t.Helper()
	if e, open := <-l.events; open {
		l.t.Fatalf("got %+v, want no more", e)
	}
}

func TestEvents(t *testing.T) {
	harness.InVirtualTime(t, 3, func(t *testing.T, d *harness.Deployment) {
		a, c := newAgent(t, d, agent.Config{}, redlock.WithTTL(3*time.Second))
		s, other := c.open(10*time.Second), c.open(time.Minute)
		c.does("PUT", s+"/locks/a", `{"name": "job"}`)
		l := listen(t, c, s)
		if state := l.next("state").State; len(state.Locks) != 1 || state.Locks[0].ID != "a" {
			t.Errorf("got %+v", state)
		}
		c.does("PUT", other+"/locks/x", `{"name": "another's"}`)
		c.does("PUT", s+"/locks/b", `{"name": "second"}`)
		if e := l.next("held"); e.Lock != "b" {
			t.Errorf("got %+v", e)
		}
		c.does("DELETE", s+"/locks/b", "")
		l.next("released")
		harness.RequireHolders(t, d, "111", "job") // the lock is on all masters
		d.Drop(d.Client(), "job", 0, 1, 2)
		if e := l.next("lost"); e.Lock != "a" || !strings.HasSuffix(e.Problem.Type, "#lost") && !strings.HasSuffix(e.Problem.Type, "#expired") {
			t.Errorf("got %+v", e)
		}
		c.fails("DELETE", s+"/locks/a", "", "lost")
		go a.Drain(t.Context(), time.Hour)
		l.next("draining")
		l.next("ended") // events do not renew a session
		l.over()
	})
}

// A program that does not read its events is disconnected. When it connects again, the first event has all locks.
func TestSlowEventReader(t *testing.T) {
	onAgent(t, agent.Config{}, func(t *testing.T, _ *harness.Deployment, _ *agent.Agent, c caller) {
		s := c.open(time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		out, in := io.Pipe() // nobody reads it
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.agent.ServeHTTP(&piped{in, http.Header{}}, httptest.NewRequestWithContext(ctx, "GET", s+"/events", nil))
		}()
		time.Sleep(time.Second)
		c.does("PUT", s+"/locks/held", `{"name": "job"}`)
		for i := range 100 {
			c.does("DELETE", s+"/locks/"+strings.Repeat("i", i+1), "")
		}
		for range 3 { // the disconnected stream does not count any more
			listen(t, c, s).next("state")
		}
		if state := listen(t, c, s).next("state").State; len(state.Locks) != 1 {
			t.Errorf("got %+v", state)
		}
		c.fails("GET", s+"/events", "", "limit")
		cancel()
		out.Close()
		<-ended
	})
}
