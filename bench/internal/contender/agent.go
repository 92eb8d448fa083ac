package contender

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/cmd/redlock/agent"
	"github.com/redlock-go/redlock/fence"
)

// agentClient calls an agent of this library on a Unix socket, in one session. The agent runs in the process of the
// worker, so that the agent's CPU time is counted as CPU time of the client.
type agentClient struct {
	http    *http.Client
	session string // path
	last    atomic.Int64
	stop    func() error
}

func openAgent(urls []string) (Client, error) {
	locks, err := redlock.Open(urls, redlock.WithTTL(TTL))
	if err != nil {
		return nil, err
	}
	socket := fmt.Sprintf("@bench-agent-%d", os.Getpid()) // an abstract socket, which has no file
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, errors.Join(err, locks.Close())
	}
	a := agent.New(locks, agent.Config{})
	server := &http.Server{Handler: a}
	go func() { _ = server.Serve(listener) }() // until Close
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}
	c := &agentClient{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000, DialContext: dial}}}
	c.stop = func() error {
		a.Close()
		c.http.CloseIdleConnections()
		return errors.Join(server.Close(), locks.Close())
	}
	var session struct{ Session string }
	if err := c.call(context.Background(), "POST", "/v1/sessions", `{"ttl_ms": 3600000}`, &session); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.session = "/v1/sessions/" + session.Session
	return c, nil
}

func (c *agentClient) call(ctx context.Context, method, path, body string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, text)
	}
	return json.Unmarshal(text, answer)
}

func (c *agentClient) Lock(ctx context.Context, name string, wait bool) (Held, error) {
	h := &agentHeld{client: c, path: fmt.Sprintf("%s/locks/%d", c.session, c.last.Add(1))}
	patience := 0
	if wait {
		patience = 600_000
	}
	return h, c.call(ctx, "PUT", h.path, fmt.Sprintf(`{"name": %q, "wait_ms": %d}`, name, patience), h)
}

func (c *agentClient) Close() error { return c.stop() }

type agentHeld struct {
	client *agentClient
	path   string
	Fence  fence.Token `json:"token"`
}

func (h *agentHeld) Token() uint64 { return uint64(h.Fence) }

func (h *agentHeld) Unlock(ctx context.Context) error {
	return h.client.call(ctx, "DELETE", h.path, "", &struct{}{})
}
