//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/testskip"
)

// A program in Python whose agent is gone stops before another program holds the lock, although the program's
// work blocks. This is tested for each way in which the client can stop the work.
func TestAgentEndsWorkInTime(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name   string
		way    string
		signal syscall.Signal
	}{
		{"killed", "timeout", syscall.SIGKILL},
		{"stopped", "interrupt", syscall.SIGSTOP},
		{"stopped, with a task", "async", syscall.SIGSTOP},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			masters, over := founded(t).URLs("", ""), make(chan struct{})
			store := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { // the handler blocks
				select {
				case <-over:
				case <-r.Context().Done():
				}
			}))
			t.Cleanup(store.Close)
			t.Cleanup(func() { close(over) })
			near, far := startAgent(t, masters), startAgent(t, masters)
			first := startWorker(t, near, store.URL, fault.way)
			first.await("valid")
			second := startWorker(t, far, store.URL, fault.way)
			harness.Must(t, near.Process.Signal(fault.signal))
			lost, next := first.await("lost"), second.await("held")
			if lost.At >= next.At || lost.Late > 1 {
				t.Errorf("it ended %v s after its time, and %v before the next holder", lost.Late, time.Duration(next.At-lost.At))
			}
		})
	}
}

// A program that was stopped past its lease writes too late, and the guarded store refuses the write.
func TestAgentStoppedProgramIsFenced(t *testing.T) {
	t.Parallel()
	var memory fence.Memory
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, err := fence.Parse(r.FormValue("token"))
		if err == nil {
			err = memory.Claim(r.Context(), "account", token)
		}
		switch {
		case errors.Is(err, fence.ErrStale):
			w.WriteHeader(http.StatusConflict)
		case err != nil:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(store.Close)
	agent := startAgent(t, founded(t).URLs("", ""))
	first := startWorker(t, agent, store.URL, "stopped")
	first.await("valid") // after that line the program stops itself
	startWorker(t, agent, store.URL, "timeout").await("wrote")
	harness.Must(t, first.Process.Signal(syscall.SIGCONT))
	first.await("stale")
}

// redlockFolder has the command, and is removed at the end of TestMain.
var redlockFolder string

var redlockBinary = sync.OnceValues(func() (_ string, err error) {
	if redlockFolder, err = os.MkdirTemp("", "redlock"); err != nil {
		return "", err
	}
	binary := filepath.Join(redlockFolder, "redlock")
	if out, err := exec.Command("go", "build", "-C", "../../cmd/redlock", "-o", binary, ".").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
})

type agent struct {
	*exec.Cmd
	socket string
}

func startAgent(t *testing.T, masters []string) agent {
	t.Helper()
	binary, err := redlockBinary()
	harness.Must(t, err)
	dir, err := os.MkdirTemp("", "agent") // short: the path of a socket may have 107 bytes
	harness.Must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "a")
	a := agent{exec.Command(binary, "agent", "--masters", strings.Join(masters, ","), "--socket", socket, "--ttl", "3s"), socket}
	var out bytes.Buffer
	a.Stderr = &out
	endWithTest(t, a.Cmd)
	for range 3000 {
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			return a
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the agent does not answer: %s", out.String())
	panic("unreachable")
}

// endWithTest starts a process that ends with the test at the latest.
func endWithTest(t *testing.T, process *exec.Cmd) {
	t.Helper()
	harness.Must(t, process.Start())
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
}

type worker struct {
	*exec.Cmd
	t      *testing.T
	output *json.Decoder
}

func startWorker(t *testing.T, a agent, store, way string) worker {
	t.Helper()
	_, err := exec.LookPath("python3")
	testskip.IfLacking(t, err, exec.ErrNotFound)
	harness.Must(t, err)
	process := exec.Command("python3", "testdata/worker.py", a.socket, store, way)
	process.Env = append(os.Environ(), "PYTHONPATH=../../cmd/redlock/agent/clients/python", "PYTHONDONTWRITEBYTECODE=1")
	process.Stderr = os.Stderr
	out, in, err := os.Pipe()
	harness.Must(t, err)
	process.Stdout = in
	endWithTest(t, process)
	harness.Must(t, in.Close())
	harness.Must(t, out.SetReadDeadline(time.Now().Add(time.Minute)))
	t.Cleanup(func() { _ = out.Close() })
	return worker{process, t, json.NewDecoder(io.Reader(out))}
}

// output is one line that a program prints.
type output struct {
	What string
	At   int64
	Late float64 // seconds from the end of the lock to the end of the work
}

// await returns the next line of a kind.
func (w worker) await(what string) (line output) {
	w.t.Helper()
	for line.What != what {
		if err := w.output.Decode(&line); err != nil {
			w.t.Fatalf("a program does not print %q: %v", what, err)
		}
	}
	return line
}
