//go:build unix

package redisproc

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/testskip"
)

// installed skips the test if there is no redis-server.
func installed(t *testing.T) {
	t.Helper()
	_, err := Config{}.program()
	testskip.IfLacking(t, err, ErrNotInstalled)
	check(t, err)
}

// start starts a server for the test.
func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	installed(t)
	s, err := Start(cfg)
	check(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// dial opens a connection with a deadline of 30 s.
func dial(t *testing.T, s *Server) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.Addr(), 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn, bufio.NewReader(conn)
}

// do sends a command on a new connection and returns the first line of the reply.
func do(t *testing.T, s *Server, args ...string) string {
	t.Helper()
	conn, r := dial(t, s)
	reply, err := ask(conn, r, args...)
	if err != nil {
		t.Fatalf("%s: %v", args, err)
	}
	return reply
}

func want(t *testing.T, s *Server, reply string, args ...string) {
	t.Helper()
	if got := do(t, s, args...); got != reply {
		t.Errorf("%s: got %q, want %q", args, got, reply)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// gone reports whether the process does not exist any more, not even as a zombie.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestCrashKeepsAOF(t *testing.T) {
	t.Parallel()
	s := start(t, Config{AppendFsync: "always"})
	want(t, s, "+OK", "SET", "k", "v")
	want(t, s, "+OK", "SET", "lock", "v", "PX", "60000")
	addr, pid := s.Addr(), s.PID()

	s.Kill()
	s.Kill()
	if s.Running() || s.PID() != 0 || !gone(pid) {
		t.Fatalf("process %d lives after Kill", pid)
	}
	check(t, s.Restart())
	check(t, s.Restart())
	if s.Addr() != addr || s.PID() == pid || !s.Running() {
		t.Fatalf("after Restart: addr %s (was %s), pid %d (was %d)", s.Addr(), addr, s.PID(), pid)
	}
	want(t, s, ":1", "EXISTS", "k")
	if ttl := do(t, s, "PTTL", "lock"); ttl == ":-1" || ttl == ":-2" {
		t.Errorf("ttl of the lock after the crash: %s", ttl)
	}
}

func TestWipe(t *testing.T) {
	t.Parallel()
	s := start(t, Config{AppendFsync: "always"})
	want(t, s, "+OK", "SET", "k", "v")
	if err := s.Wipe(); !errors.Is(err, ErrRunning) {
		t.Fatalf("Wipe of a running server: %v", err)
	}
	want(t, s, ":1", "EXISTS", "k")
	s.Kill()
	check(t, s.Wipe())
	check(t, s.Wipe())
	check(t, s.Restart())
	want(t, s, ":0", "DBSIZE")
}

func TestPausedServerAnswersAfterResume(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	check(t, s.Pause())
	check(t, s.Pause())
	if !s.Running() {
		t.Error("a paused server counts as running")
	}

	conn, r := dial(t, s) // the kernel accepts connections for the paused server
	check(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
	if reply, err := ask(conn, r, "INCR", "n"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a paused server answered %q, %v", reply, err)
	}
	check(t, s.Resume())
	check(t, s.Resume())
	check(t, conn.SetReadDeadline(time.Now().Add(5*time.Second)))
	if line, err := r.ReadString('\n'); line != ":1\r\n" {
		t.Fatalf("the request from the pause: %q, %v", line, err)
	}
}

func TestPausedServerCanBeKilledAndStopped(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	dir := s.Dir()
	check(t, s.Pause())
	s.Kill()
	if err := s.Pause(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Pause of a dead server: %v", err)
	}
	if err := s.Resume(); !errors.Is(err, ErrNotRunning) {
		t.Errorf("Resume of a dead server: %v", err)
	}
	check(t, s.Restart())
	check(t, s.Pause())
	pid := s.PID()
	check(t, s.Stop())
	check(t, s.Stop())
	if !gone(pid) {
		t.Errorf("process %d lives after Stop", pid)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary folder is still there: %v", err)
	}
	if err := s.Restart(); !errors.Is(err, ErrStopped) {
		t.Errorf("Restart after Stop: %v", err)
	}
	if err := s.Wipe(); !errors.Is(err, ErrStopped) {
		t.Errorf("Wipe after Stop: %v", err)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	installed(t)
	for name, cfg := range map[string]Config{
		"FATAL CONFIG FILE ERROR": {Conf: map[string]string{"no-such-directive": "1"}},
		"AppendFsync (\"often\")": {AppendFsync: "often"},
		"must be one line":        {Conf: map[string]string{"save": "1\nport 2"}},
	} {
		if s, err := Start(cfg); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Start(%+v): %v, %v; want an error with %q", cfg, s, err, name)
		}
	}
}

// Without t.Parallel, because the test changes the environment.
func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s, err := Start(Config{})
	if s != nil || !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "apt-get install") {
		t.Errorf("Start without redis-server: %v, %v", s, err)
	}
	all, err := StartN(5, Config{})
	if all != nil || !errors.Is(err, ErrNotInstalled) || strings.Count(err.Error(), "apt-get install") != 1 {
		t.Errorf("StartN without redis-server: %v, %v", all, err)
	}
}

func TestPortTaken(t *testing.T) {
	t.Parallel()
	other := start(t, Config{})
	s := start(t, Config{})
	s.Kill()
	own := s.port
	s.port = other.port
	check(t, s.cfg.write(s.dir, s.port))
	if err := s.startOnce(); !errors.Is(err, errPortTaken) {
		t.Errorf("start on a port where another redis-server answers: %v", err)
	}
	s.port = own
	check(t, s.cfg.write(s.dir, s.port))
	check(t, s.Restart())
}

func TestRestartWaitsForPort(t *testing.T) {
	t.Parallel()
	s := start(t, Config{})
	s.Kill()
	squatter, err := net.Listen("tcp", s.Addr())
	check(t, err)
	if err := s.startOnce(); !errors.Is(err, errPortTaken) {
		t.Errorf("start on a taken port: %v", err)
	}
	restarted := make(chan error)
	go func() { restarted <- s.Restart() }()
	check(t, squatter.Close())
	check(t, <-restarted)
	want(t, s, "+PONG", "PING")
}

func TestStartNStopsAllOnError(t *testing.T) {
	t.Parallel()
	installed(t)
	dir := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dir, "2"), nil, 0o600)) // no folder can be made here
	servers, err := StartN(3, Config{Dir: dir})
	if servers != nil || err == nil {
		t.Fatalf("StartN: %v, %v", servers, err)
	}
	for _, n := range []string{"1", "3"} {
		conf, err := os.ReadFile(filepath.Join(dir, n, configFile))
		check(t, err)
		var port int
		for line := range strings.Lines(string(conf)) {
			if _, err := fmt.Sscanf(line, "port %d", &port); err == nil {
				break
			}
		}
		if conn, err := net.Dial("tcp", loopback(port)); err == nil {
			conn.Close()
			t.Errorf("server %s still listens on %d", n, port)
		}
	}
}
