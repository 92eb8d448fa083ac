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

	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	notExecutable := filepath.Join(t.TempDir(), "text")
	harness.Must(t, os.WriteFile(notExecutable, []byte("hello"), 0o600))
	badFormat := filepath.Join(t.TempDir(), "binary")
	harness.Must(t, os.WriteFile(badFormat, []byte{0, 1, 2}, 0o700))
	for i, c := range []struct {
		command []string
		status  int
	}{
		{[]string{"true"}, 0},
		{[]string{"sh", "-c", "exit 7"}, 7},
		{[]string{"sh", "-c", "exit 255"}, 255},
		{[]string{"sh", "-c", "exit $#", "sh", "--", "--help", "-h", "--name=x"}, 4},
		{[]string{"sh", "-c", "kill -KILL $$"}, 137},
		{[]string{"sh", "-c", "kill -TERM $$"}, 143},
		{[]string{"no-such-command-here"}, exitNotFound},
		{[]string{"/no/such/command"}, exitNotFound},
		{[]string{notExecutable}, exitCannotRun},
		{[]string{badFormat}, exitCannotRun},
	} {
		name := fmt.Sprintf("status-%d", i)
		r := redlockEnds(t, append([]string{"run", mastersFlag(masters), "--name", name, "--"}, c.command...)...)
		r.wants(t, c.status)
		if r.stdout != "" || (r.stderr != "") != (c.status == exitNotFound || c.status == exitCannotRun) {
			t.Errorf("%q: stdout %q, stderr %q", c.command, r.stdout, r.stderr)
		}
		if _, err := rival(t, masters).TryLock(t.Context(), name); err != nil {
			t.Errorf("%q: not free afterwards: %v", c.command, err)
		}
	}
}

func TestCommandSeesItsHold(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	before := rivalLock(t, masters, "env")
	harness.Must(t, before.Unlock(t.Context()))

	cmd := command(t, "run", "--name=env", "--", "env")
	cmd.Env = append(cmd.Env, "REDLOCK_MASTERS="+strings.Join(urls(masters), " , "), "MINE=kept", "REDLOCK_TOKEN=outer", "REDLOCK_NAME=outer")
	r := runToEnd(t, cmd)
	r.wants(t, 0)
	after := rivalLock(t, masters, "env")
	var tokens []string
	for line := range strings.Lines(r.stdout) {
		if token, found := strings.CutPrefix(line, "REDLOCK_TOKEN="); found {
			tokens = append(tokens, strings.TrimSpace(token))
		}
	}
	if len(tokens) != 1 {
		t.Fatalf("tokens are %q in %s", tokens, r.stdout)
	}
	if token, err := fence.Parse(tokens[0]); err != nil || token <= before.Token() || token >= after.Token() {
		t.Errorf("token %q (%v), those around it are %v and %v", tokens[0], err, before.Token(), after.Token())
	}
	if strings.Contains(r.stdout, "REDLOCK_MASTERS") {
		t.Errorf("the command saw the masters, with their passwords: %s", r.stdout)
	}
	if strings.Count(r.stdout, "REDLOCK_NAME=") != 1 || !strings.Contains(r.stdout, "REDLOCK_NAME=env\n") || !strings.Contains(r.stdout, "MINE=kept\n") {
		t.Errorf("the command saw %s", r.stdout)
	}

	cmd = command(t, "run", mastersFlag(masters), "--name=stdin", "cat", "-")
	cmd.Stdin = strings.NewReader("from stdin")
	if r := runToEnd(t, cmd); r.status != 0 || r.stdout != "from stdin" {
		t.Errorf("status %d, stdout %q, stderr %q", r.status, r.stdout, r.stderr)
	}
}

// COMMAND gets the arguments that redlock got, and --name is the name that the library locks.
func TestCommandGetsItsBytes(t *testing.T) {
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

// If all arguments were copied once for each of them, it would take minutes.
func TestCommandOfManyArguments(t *testing.T) {
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

// Where the max ttl is short, nothing fails for a value that nobody gave.
func TestDefaultsFitTheDeployment(t *testing.T) {
	t.Parallel()
	masters := mastersFlag(blankMasters(t, 3))
	for _, maxTTL := range []string{"5s", "20s", "34s"} {
		with := func(args ...string) []string { return append(args, masters, "--prefix="+maxTTL) }
		initialise(t, with("--max-ttl="+maxTTL)...)
		for _, flags := range [][]string{{}, {"--max-ttl=" + maxTTL}, {"--grace=0s"}, {"--ttl=3s"}} {
			redlockEnds(t, slices.Concat(with("run", "--name=a"), flags, []string{"--", "true"})...).wants(t, 0)
		}
		file := socketIn(t)
		serving(t, command(t, with("agent", "--socket", file)...))
		c := onSocket(t, file)
		c.call(200, "PUT", c.session(30*time.Second)+"/locks/a", `{"name": "a", "wait_ms": 30000}`)
	}
	// Nor does unlock, where the max ttl is no longer than masters may take to answer an operator.
	initialise(t, masters, "--prefix=2s", "--max-ttl=2s")
	redlockEnds(t, "unlock", masters, "--prefix=2s", "--name=a", "--force", "--yes").wants(t, 0)

	for flag, why := range map[string]string{
		"--ttl=18s":     "invalid --ttl 18s: must be at most the deployment's max ttl (20s) less --grace (5s)",
		"--grace=20s":   "invalid --grace 20s: must be at most 19.499s, so that a ttl of 501ms or more is left of the max ttl (20s)",
		"--max-ttl=21s": "invalid --max-ttl 21s: must be at most the deployment's (20s)",
	} {
		r := redlockEnds(t, "run", masters, "--prefix=20s", "--name=b", flag, "true")
		r.wants(t, exitUsage)
		says(t, flag, r.stderr, why)
	}
}

// The ttl gets most of the max ttl: it decides for how long masters may be slow.
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

// A reader of our words that goes away takes neither us nor the command along.
func TestNobodyReadsStderr(t *testing.T) {
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
		t.Errorf("it ended with %v, and the command said %q", err, out)
	}
}

func TestNotObtained(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	lock := rivalLock(t, masters, "held")
	host, _ := os.Hostname()
	who := fmt.Sprintf("held by process %d on %s\n", os.Getpid(), host)
	lockOf(t, mastersFlag(masters), "held", "the masters know the holder", func(l lockJSON) bool { return l.Holder.Host != "" })
	for wait, within := range map[string]string{"0": "", "-1s": "", "200ms": " within 200ms"} {
		began := time.Now()
		r := redlockEnds(t, "run", mastersFlag(masters), "--name=held", "--wait="+wait, "--", "echo", "ran")
		r.wants(t, exitHeld)
		if want := `redlock: "held" not obtained` + within + ": " + who; r.stdout != "" || r.stderr != want {
			t.Errorf("--wait %s: stdout %q, stderr %q, want %q", wait, r.stdout, r.stderr, want)
		}
		if took := time.Since(began); wait == "200ms" && took < 200*time.Millisecond {
			t.Errorf("--wait %s ended after %v", wait, took)
		}
	}

	waiting := start(t, command(t, "run", mastersFlag(masters), "--name=held", "--wait=1m", "--verbose", "--", "echo", "ran"))
	waiting.line("is up")
	harness.Must(t, lock.Unlock(t.Context()))
	waiting.line("ran")
	if status := waiting.status(); status != 0 {
		t.Errorf("status %d after a wait", status)
	}

	for _, s := range masters[:2] {
		s.Kill()
	}
	r := redlockEnds(t, "run", mastersFlag(masters), "--name=held", "--wait=0", "--", "echo", "ran")
	r.wants(t, exitUnavailable)
	if r.stdout != "" || !strings.Contains(r.stderr, masters[0].Addr()) || strings.Count(r.stderr, "\n") != 1 {
		t.Errorf("no quorum: stdout %q, stderr %q", r.stdout, r.stderr)
	}
}

func TestSignalEndsTheWait(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	rivalLock(t, masters, "held")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		ran := filepath.Join(t.TempDir(), "ran")
		waiting := start(t, command(t, "run", mastersFlag(masters), "--name=held", "--verbose", "--", "touch", ran))
		waiting.line("is up")
		waiting.signal(syscall.SIGUSR1) // is for the command, and ends nothing
		waiting.signal(s)
		if status := waiting.status(); status != 128+int(s) {
			t.Errorf("%v: status %d, want %d", s, status, 128+int(s))
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%v: the command was run", s)
		}
	}
}

func TestSignalsArePassedOn(t *testing.T) {
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
				return // ends nobody
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

// What nohup arranges holds for the command too.
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
