//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/harness"
)

// COMMAND gets its arguments byte for byte, and the library locks the bytes of --name.
func TestCommandGetsArgumentBytes(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	const latin1, asUTF8 = "caf\xe9", "caf\uFFFD"
	for _, before := range [][]string{{"--"}, {}} {
		rest := []string{allBytes, "", "--", "--name=" + latin1}
		r := redlockEnds(t, slices.Concat([]string{"run", mastersFlag(masters), "--name", latin1}, before,
			[]string{"sh", "-c", `printf '%s\n' "$REDLOCK_NAME" "$@"`, "sh"}, rest)...)
		r.wants(t, 0)
		if want := latin1 + "\n" + strings.Join(rest, "\n") + "\n"; r.stdout != want {
			t.Errorf("after %q COMMAND got %q, want %q", before, r.stdout, want)
		}
	}
	token := rivalLock(t, masters, latin1).Token().String()
	for name, status := range map[string]int{latin1: exitHeld, asUTF8: 0} {
		redlockEnds(t, "run", mastersFlag(masters), "--wait=0", "--name", name, "true").wants(t, status)
	}
	redlockEnds(t, "verify", mastersFlag(masters), "--name", latin1, "--token", token).wants(t, exitOK)
	redlockEnds(t, "unlock", mastersFlag(masters), "--name", latin1, "--force", "--yes").wants(t, exitOK)
	redlockEnds(t, "verify", mastersFlag(masters), "--name", latin1, "--token", token).wants(t, exitStale)
}

// If redlock copied all arguments for each argument, this command would take minutes.
func TestCommandWithManyArguments(t *testing.T) {
	t.Parallel()
	masters := mastersFlag(realMasters(t, 3))
	many := slices.Repeat([]string{"x"}, 100_000)
	for _, before := range [][]string{{"--"}, {}} {
		r := redlockEnds(t, slices.Concat([]string{"run", masters, "--name=a"}, before, []string{"sh", "-c", "echo $#", "sh"}, many)...)
		r.wants(t, 0)
		if want := fmt.Sprintln(len(many)); r.stdout != want {
			t.Errorf("after %q COMMAND got %q arguments, want %q", before, r.stdout, want)
		}
	}
}

// The default grace leaves most of the max ttl for the ttl. The ttl decides for how long masters may be slow.
func TestDefaultGrace(t *testing.T) {
	t.Parallel()
	for maxTTL, want := range map[time.Duration]time.Duration{
		time.Minute: defaultGrace, 20 * time.Second: defaultGrace, 8 * time.Second: 2 * time.Second,
		600 * time.Millisecond: 99 * time.Millisecond, 501 * time.Millisecond: 0,
	} {
		cfg := &runConfig{}
		if cfg.fit(maxTTL); cfg.grace != want {
			t.Errorf("with a max ttl of %v it is %v, want %v", maxTTL, cfg.grace, want)
		}
	}
}

// When the reader of our stderr goes away, neither redlock nor the command ends.
func TestStderrClosed(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	read, write, err := os.Pipe()
	harness.Must(t, err)
	harness.Must(t, read.Close())
	cmd := command(t, "run", mastersFlag(masters), "--name=job", "--ttl=3s", "--verbose", "--", "sh", "-c", "sleep 1.5; echo done")
	cmd.Stderr = write
	out, err := cmd.Output()
	harness.Must(t, write.Close())
	if err != nil || string(out) != "done\n" {
		t.Errorf("it ended with %v, and the command printed %q", err, out)
	}
}

// A closed stdout ends redlock by SIGPIPE, like any other command.
func TestStdoutClosed(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	harness.Must(t, err)
	harness.Must(t, read.Close())
	cmd := command(t, "help")
	cmd.Stdout = write
	_ = cmd.Run() // its status is checked below
	harness.Must(t, write.Close())
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGPIPE {
		t.Errorf("it ended with %v", cmd.ProcessState)
	}
}

func TestSignalEndsWait(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	rivalLock(t, masters, "held")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		ran := filepath.Join(t.TempDir(), "ran")
		waiting := start(t, command(t, "run", mastersFlag(masters), "--name=held", "--verbose", "--", "touch", ran))
		waiting.line("is up")
		waiting.signal(syscall.SIGUSR1) // it is for the command, and does not end the wait
		waiting.signal(s)
		if status := waiting.status(); status != 128+int(s) {
			t.Errorf("%v: status %d, want %d", s, status, 128+int(s))
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%v: the command was run", s)
		}
	}
}

func TestSignalsAreForwarded(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	for _, sig := range []string{"INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "WINCH"} {
		t.Run(sig, func(t *testing.T) {
			number := signalNumbers[sig]
			script := fmt.Sprintf(`trap 'echo got; exit 9' %s; echo ready; while :; do sleep 0.02; done`, sig)
			trapped := start(t, command(t, "run", mastersFlag(masters), "--name", sig, "--", "sh", "-c", script))
			trapped.line("ready")
			trapped.signal(number)
			trapped.line("got")
			if status := trapped.status(); status != 9 {
				t.Errorf("status %d, want the command's own", status)
			}

			if sig == "WINCH" {
				return // it does not end a process
			}
			killed := start(t, command(t, "run", mastersFlag(masters), "--name", sig, "--", "sh", "-c", "ulimit -c 0; echo ready; exec sleep 1000"))
			killed.line("ready")
			killed.signal(number)
			if status := killed.status(); status != 128+int(number) {
				t.Errorf("status %d, want %d", status, 128+int(number))
			}
		})
	}
}

var signalNumbers = map[string]syscall.Signal{
	"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
	"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "WINCH": syscall.SIGWINCH,
}

// A signal that nohup ignores stays ignored for the command too.
func TestIgnoredSignalStaysIgnored(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	cmd := command(t, "run", mastersFlag(masters), "--name=nohup", "--", "sh", "-c", "echo ready; read x; exit 9")
	cmd.Args = append([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	stdin, err := cmd.StdinPipe()
	harness.Must(t, err)
	run := start(t, cmd)
	run.line("ready")
	run.signal(syscall.SIGHUP)
	harness.Must(t, syscall.Kill(-childOf(t, cmd.Process.Pid), syscall.SIGHUP))
	harness.Must(t, stdin.Close())
	if status := run.status(); status != 9 {
		t.Errorf("status %d, want 9", status)
	}
}
