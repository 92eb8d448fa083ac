package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/admin"
	"github.com/redlock-go/redlock/internal/faultproxy"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// TestMain makes this test binary the command redlock on the PATH, also under the race detector.
func TestMain(m *testing.M) { testscript.Main(tests{m}, map[string]func(){"redlock": main}) }

type tests struct{ *testing.M }

// Run makes this process handle SIGHUP. Under nohup SIGHUP is ignored, and all processes that the tests
// start would inherit that.
func (t tests) Run() int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	return t.M.Run()
}

// deadline is the longest wait. Waits take far less, unless the test fails.
const deadline = 60 * time.Second

// command returns a Cmd of redlock with args, which is not started yet. The end of the test kills its process.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "redlock", args...)
	cmd.Env = append(os.Environ(), "REDLOCK_MASTERS=")
	cmd.WaitDelay = time.Second // if another process still has the output open
	return cmd
}

// result is how a process ended.
type result struct {
	status         int // -1: a signal ended it
	stdout, stderr string
}

// redlockEnds runs redlock with args until it ends.
func redlockEnds(t *testing.T, args ...string) result {
	t.Helper()
	return runToEnd(t, command(t, args...))
}

func runToEnd(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatalf("%q: %v", cmd.Args, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (r result) wants(t *testing.T, status int) {
	t.Helper()
	if r.status != status {
		t.Fatalf("status %d, want %d\nstdout: %s\nstderr: %s", r.status, status, r.stdout, r.stderr)
	}
}

// running is a redlock whose output is read as it comes.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan string // of stdout and stderr
}

func start(t *testing.T, cmd *exec.Cmd) *running {
	t.Helper()
	r, w, err := os.Pipe()
	harness.Must(t, err)
	cmd.Stdout, cmd.Stderr = w, w
	harness.Must(t, cmd.Start())
	w.Close()
	run := &running{t: t, cmd: cmd, lines: make(chan string, 1000)}
	go func() {
		defer close(run.lines)
		defer r.Close()
		for s := bufio.NewScanner(r); s.Scan(); {
			run.lines <- s.Text()
		}
	}()
	return run
}

// line waits for a line that contains text, and returns the rest of the line after text.
func (r *running) line(text string) string {
	r.t.Helper()
	var before []string
	for {
		select {
		case line, ok := <-r.lines:
			if !ok {
				r.t.Fatalf("ended without a line with %q: %q", text, before)
			}
			if _, after, found := strings.Cut(line, text); found {
				return strings.TrimSpace(after)
			}
			before = append(before, line)
		case <-time.After(deadline):
			r.t.Fatalf("no line with %q: %q", text, before)
		}
	}
}

func (r *running) signal(s syscall.Signal) {
	r.t.Helper()
	harness.Must(r.t, r.cmd.Process.Signal(s))
}

// status waits for the end, and returns the exit status.
func (r *running) status() int {
	r.t.Helper()
	err := r.cmd.Wait()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		r.t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// realMasters starts redis-server processes, and founds a deployment of them.
func realMasters(t *testing.T, n int) []*redisproc.Server {
	t.Helper()
	servers := blankMasters(t, n)
	found(t, rival(t, servers))
	return servers
}

// found founds a deployment of new masters. It retries if a busy master does not answer in time.
func found(t *testing.T, client *redlock.Client) {
	t.Helper()
	var err error
	harness.Eventually(t, "the masters are a deployment", func() bool {
		err = admin.Init(t.Context(), client, 0)
		return !errors.Is(err, redlock.ErrNoQuorum)
	})
	harness.Must(t, err)
}

func blankMasters(t *testing.T, n int) []*redisproc.Server {
	t.Helper()
	servers, err := redisproc.StartN(n, redisproc.Config{})
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	harness.Must(t, err)
	t.Cleanup(func() {
		for _, s := range servers {
			harness.Must(t, s.Stop())
		}
	})
	return servers
}

func urls(servers []*redisproc.Server) []string {
	var urls []string
	for _, s := range servers {
		urls = append(urls, s.URL())
	}
	return urls
}

// mastersFlag returns the argument that names the servers.
func mastersFlag(servers []*redisproc.Server) string {
	return "--masters=" + strings.Join(urls(servers), ",")
}

// rival returns another client of the same masters.
func rival(t *testing.T, servers []*redisproc.Server, opts ...redlock.Option) *redlock.Client {
	t.Helper()
	c, err := redlock.Open(urls(servers), opts...)
	harness.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func rivalLock(t *testing.T, servers []*redisproc.Server, name string) *redlock.Lock {
	t.Helper()
	lock, err := rival(t, servers).Lock(t.Context(), name, redlock.WithWait(deadline))
	harness.Must(t, err)
	return lock
}

// initialise founds a deployment with redlock init.
func initialise(t *testing.T, flags ...string) {
	t.Helper()
	redlockEnds(t, append([]string{"init", "--yes"}, flags...)...).wants(t, exitOK)
}

// requireText fails unless text has all of the words.
func requireText(t *testing.T, what, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%s is %q, want %q in it", what, text, word)
		}
	}
}

// masterWith starts a redis-server with this configuration.
func masterWith(t *testing.T, cfg redisproc.Config) *redisproc.Server {
	t.Helper()
	s, err := redisproc.Start(cfg)
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, s.Stop()) })
	return s
}

func writeFile(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	harness.Must(t, os.WriteFile(file, []byte(text), 0o600))
	harness.Must(t, os.Chmod(file, mode))
	return file
}

// proxyOf returns a proxy in front of a master.
func proxyOf(t *testing.T, master string) *faultproxy.Proxy {
	t.Helper()
	p, err := faultproxy.New(master)
	harness.Must(t, err)
	t.Cleanup(func() { harness.Must(t, p.Close()) })
	return p
}
