//go:build unix

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/testpki"
	"github.com/redlock-go/redlock/internal/testskip"
)

// agentClient calls an agent as a program in Go would.
type agentClient struct {
	t     *testing.T
	http  *http.Client
	base  string
	token string
}

// onSocket calls the agent on a Unix socket.
func onSocket(t *testing.T, file string) *agentClient {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", file)
	}}
	t.Cleanup(transport.CloseIdleConnections)
	return &agentClient{t: t, http: &http.Client{Transport: transport, Timeout: deadline}, base: "http://localhost"}
}

// agentAnswer is what a call came to.
type agentAnswer struct {
	status   int
	text     string
	Session  string
	Token    string
	ValidFor int64 `json:"valid_for_ms"`
	Type     string
	Draining bool
}

func (c *agentClient) try(method, path, body string) (a agentAnswer, err error) {
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	harness.Must(c.t, err)
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return a, err
	}
	if strings.HasSuffix(response.Header.Get("Content-Type"), "json") {
		harness.Must(c.t, json.Unmarshal(text, &a))
	}
	a.status, a.text = response.StatusCode, string(text)
	return a, nil
}

func (c *agentClient) call(status int, method, path, body string) agentAnswer {
	c.t.Helper()
	a, err := c.try(method, path, body)
	harness.Must(c.t, err)
	if a.status != status {
		c.t.Fatalf("%s %s %s: %d %s, want %d", method, path, body, a.status, a.text, status)
	}
	return a
}

func (c *agentClient) session(ttl time.Duration) string {
	c.t.Helper()
	return "/v1/sessions/" + c.call(200, "POST", "/v1/sessions", fmt.Sprintf(`{"ttl_ms": %d}`, ttl.Milliseconds())).Session
}

// socketIn is a short path: a socket's may have 107 bytes.
func socketIn(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent")
	harness.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "s")
}

// serving waits until the agent says that it serves.
func serving(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r := start(t, cmd)
	r.line(`"msg":"agent serves"`)
	return r
}

func TestAgentOnASocket(t *testing.T) {
	t.Parallel()
	masters := mastersFlag(realMasters(t, 3))
	file := socketIn(t)
	r := serving(t, command(t, "agent", masters, "--socket", file))
	info, err := os.Stat(file)
	harness.Must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v", info.Mode())
	}
	c := onSocket(t, file)
	c.call(200, "GET", "/readyz", "")
	s := c.session(30 * time.Second)
	lock := c.call(200, "PUT", s+"/locks/a", `{"name": "job", "wait_ms": 30000}`)
	if lock.Token == "" || lock.ValidFor < 20_000 {
		t.Errorf("got %s", lock.text)
	}
	if metrics := c.call(200, "GET", "/metrics", ""); !strings.Contains(metrics.text, "redlock_held{redlock_lock_mode=\"write\"} 1\n") || !strings.Contains(metrics.text, "redlock_agent_sessions 1\n") {
		t.Errorf("got %s", metrics.text)
	}
	beside := redlockEnds(t, "agent", masters, "--socket", file)
	beside.wants(t, exitUnavailable)
	if !strings.Contains(beside.stderr, "another agent answers there") {
		t.Errorf("got %s", beside.stderr)
	}

	// Killed, it leaves its socket behind. The next agent takes the place, and knows nobody.
	r.signal(syscall.SIGKILL)
	_ = r.cmd.Wait()
	if _, err := c.try("POST", s+"/keep", ""); err == nil {
		t.Error("a killed agent answered")
	}
	r = serving(t, command(t, "agent", masters, "--socket", file))
	c.call(404, "POST", s+"/keep", "")

	// A program that is done lets a draining agent end.
	s = c.session(30 * time.Second)
	c.call(200, "PUT", s+"/locks/a", `{"name": "other", "wait_ms": 30000}`)
	r.signal(syscall.SIGTERM)
	r.line(`"msg":"agent drains"`)
	harness.Eventually(t, "the session is told", func() bool { return c.call(200, "POST", s+"/keep", "").Draining })
	c.call(503, "PUT", s+"/locks/b", `{"name": "more"}`)
	c.call(200, "DELETE", s, "")
	if status := r.status(); status != exitOK {
		t.Errorf("status %d", status)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

// With --drain=0, and at a second signal, locks are left to expire: a program was told that it
// holds them.
func TestAgentLeavesLocks(t *testing.T) {
	t.Parallel()
	servers := realMasters(t, 3)
	for _, drain := range []string{"0s", "10m"} {
		file := socketIn(t)
		r := serving(t, command(t, "agent", mastersFlag(servers), "--socket", file, "--drain", drain))
		c := onSocket(t, file)
		s := c.session(time.Minute)
		sent := time.Now()
		lock := c.call(200, "PUT", s+"/locks/a", `{"name": "job of `+drain+`", "ttl_ms": 20000, "wait_ms": 30000}`)
		r.signal(syscall.SIGTERM)
		if drain != "0s" {
			r.line(`"msg":"agent drains"`)
			r.signal(syscall.SIGTERM)
		}
		r.line("leaves locks to expire")
		if status := r.status(); status != exitHeld {
			t.Errorf("status %d", status)
		}
		_, err := rival(t, servers).TryLock(t.Context(), "job of "+drain)
		if early := time.Until(sent.Add(time.Duration(lock.ValidFor) * time.Millisecond)); err == nil && early > 0 {
			t.Errorf("another had the lock %v before the end of what the program was told", early)
		}
	}
}

// An agent that ends leaves the socket of another one that has taken its path.
func TestAgentRemovesOnlyItsOwnSocket(t *testing.T) {
	t.Parallel()
	masters := mastersFlag(realMasters(t, 3))
	file := socketIn(t)
	first := serving(t, command(t, "agent", masters, "--socket", file))
	harness.Must(t, os.Remove(file))
	second := serving(t, command(t, "agent", masters, "--socket", file))
	first.signal(syscall.SIGTERM)
	if status := first.status(); status != exitOK {
		t.Errorf("status %d", status)
	}
	onSocket(t, file).call(200, "GET", "/livez", "")
	second.signal(syscall.SIGTERM)
	second.status()
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}

func TestAgentOnTCP(t *testing.T) {
	t.Parallel()
	masters := mastersFlag(realMasters(t, 3))
	ca := testpki.New(t)
	cert, key := ca.Issue("agent")
	token := filepath.Join(t.TempDir(), "token")
	harness.Must(t, os.WriteFile(token, []byte("secret\n"), 0o600))
	r := start(t, command(t, "agent", masters, "--tcp", "127.0.0.1:0", "--server-cert", cert, "--server-key", key, "--token-file", token))
	address, _, _ := strings.Cut(strings.TrimPrefix(r.line(`"msg":"agent serves"`), `,"address":"`), `"`)
	pem, err := os.ReadFile(ca.File)
	harness.Must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	c := &agentClient{t: t, http: &http.Client{Transport: transport, Timeout: deadline}, base: "https://" + address}
	c.call(401, "POST", "/v1/sessions", "")
	c.call(200, "GET", "/livez", "")
	c.token = "secre"
	c.call(401, "POST", "/v1/sessions", "")
	c.token = "secret"
	c.session(time.Minute)
	renewed, itsKey := ca.Issue("renewed")
	harness.Must(t, os.Rename(renewed, cert))
	harness.Must(t, os.Rename(itsKey, key))
	conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: roots})
	harness.Must(t, err)
	defer conn.Close()
	if name := conn.ConnectionState().PeerCertificates[0].Subject.CommonName; name != "renewed" {
		t.Errorf("a new connection gets the certificate of %q, not the one that is on disk", name)
	}
	if plain, err := http.Get("http://" + address + "/livez"); err == nil {
		plain.Body.Close()
		if plain.StatusCode == http.StatusOK {
			t.Error("it answers without TLS")
		}
	}
}

// A socket that systemd hands over is used, and left to it.
func TestAgentOnTheSocketOfSystemd(t *testing.T) {
	t.Parallel()
	file := socketIn(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: file, Net: "unix"})
	harness.Must(t, err)
	l.SetUnlinkOnClose(false)
	handed, err := l.File()
	harness.Must(t, err)
	harness.Must(t, l.Close())
	cmd := command(t, "agent", mastersFlag(realMasters(t, 3)), "--drain=0s")
	// LISTEN_PID is that of the process, which a shell knows and exec keeps.
	cmd.Args = append([]string{"sh", "-c", `export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" "$@"`}, append([]string{cmd.Path}, cmd.Args[1:]...)...)
	cmd.Path, err = exec.LookPath("sh")
	harness.Must(t, err)
	cmd.ExtraFiles = []*os.File{handed}
	r := serving(t, cmd)
	onSocket(t, file).session(time.Minute)
	r.signal(syscall.SIGTERM)
	r.status()
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the socket of systemd is gone: %v", err)
	}
}

// The examples of programs in other languages run.
func TestAgentExamples(t *testing.T) {
	t.Parallel()
	servers := realMasters(t, 3)
	file := socketIn(t)
	serving(t, command(t, "agent", mastersFlag(servers), "--socket", file))
	for _, example := range []struct{ needs, command string }{
		{"python3", "python3 agent/examples/job.py SOCKET job"},
		{"node", "node agent/examples/job.js SOCKET job"},
		{"curl", "./agent/examples/job.sh SOCKET job printenv REDLOCK_TOKEN"},
	} {
		t.Run(example.needs, func(t *testing.T) {
			_, err := exec.LookPath(example.needs)
			testskip.IfLacking(t, err, exec.ErrNotFound)
			words := strings.Fields(strings.ReplaceAll(example.command, "SOCKET", file))
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			cmd.Env = append(os.Environ(), "PYTHONPATH=agent/clients", "PYTHONDONTWRITEBYTECODE=1")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			err = cmd.Run()
			if token := strings.TrimSpace(strings.TrimPrefix(out.String(), "locked, with token")); err != nil || len(token) < 10 || strings.ContainsFunc(token, func(r rune) bool { return r < '0' || r > '9' }) {
				t.Fatalf("%v: %s", err, out.String())
			}
			lock := rivalLock(t, servers, "job") // it was released
			harness.Must(t, lock.Unlock(context.Background()))
		})
	}
}
