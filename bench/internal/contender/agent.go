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
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/cmd/redlock/agent"
	"github.com/redlock-go/redlock/fence"
)

// openAgent is this library behind an agent on a Unix socket, called by one session. The agent runs
// in the process of the benchmark, so that its processor time is the client's.
func openAgent(urls []string) (_ Client, err error) {
	c := &agentClient{}
	if c.locks, err = redlock.Open(urls, redlock.WithTTL(TTL)); err != nil {
		return nil, err
	}
	if c.dir, err = os.MkdirTemp("", "agent"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	socket := filepath.Join(c.dir, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.agent = agent.New(c.locks, agent.Config{})
	c.server = &http.Server{Handler: c.agent}
	go func() { _ = c.server.Serve(listener) }() // until Close
	c.http = &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 1000,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	var session struct{ Session string }
	if err := c.call(context.Background(), "POST", "/v1/sessions", `{"ttl_ms": 3600000}`, &session); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.session = "/v1/sessions/" + session.Session
	return c, nil
}

type agentClient struct {
	locks   *redlock.Client
	agent   *agent.Agent
	server  *http.Server
	http    *http.Client
	dir     string
	session string // path
	last    atomic.Int64
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
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s", method, path, text)
	}
	return json.Unmarshal(text, answer)
}

func (c *agentClient) Lock(ctx context.Context, name string, wait bool) (Held, error) {
	held := &agentHeld{client: c, path: fmt.Sprintf("%s/locks/%d", c.session, c.last.Add(1))}
	want := struct {
		Name string `json:"name"`
		Wait int64  `json:"wait_ms"`
	}{Name: name}
	if wait {
		want.Wait = 600_000
	}
	body, err := json.Marshal(want)
	if err != nil {
		return nil, err
	}
	if err := c.call(ctx, "PUT", held.path, string(body), held); err != nil {
		return nil, err
	}
	return held, nil
}

func (c *agentClient) Close() error {
	if c.agent != nil {
		c.agent.Close()
		c.http.CloseIdleConnections()
		_ = c.server.Close()
	}
	return errors.Join(c.locks.Close(), os.RemoveAll(c.dir))
}

type agentHeld struct {
	client *agentClient
	path   string
	Fence  fence.Token `json:"token"`
}

func (h *agentHeld) Token() uint64 { return uint64(h.Fence) }

func (h *agentHeld) Unlock(ctx context.Context) error {
	return h.client.call(ctx, "DELETE", h.path, "", &struct{}{})
}
