//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/fence"
	"github.com/redlock-go/redlock/internal/harness"
)

func TestBadInput(t *testing.T) {
	t.Parallel()
	const masters = "--masters=redis://127.0.0.1:1"
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{masters, "true"}, "--name is missing: it must name the lock"},
		{[]string{"--name=x", "true"}, "--masters is missing, and so is REDLOCK_MASTERS: give the URLs of all masters"},
		{[]string{"--name=x", masters}, "command is missing: it must follow the flags"},
		{[]string{"--name=x", masters, "--"}, "command is missing: it must follow the flags"},
		{[]string{"--name=x", masters, "--ttl=10ms", "true"}, "invalid --ttl 10ms: must be above 500ms"},
		{[]string{"--name=x", masters, "--ttl=500ms", "true"}, "invalid --ttl 500ms: must be above 500ms"},
		{[]string{"--name=x", masters, "--ttl=-1s", "true"}, "invalid --ttl -1s: must be above 500ms"},
		{[]string{"--name=x", masters, "--ttl=58s", "true"}, "invalid --ttl 58s with --grace 5s: together must be at most --max-ttl, 1m0s"},
		{[]string{"--name=x", masters, "--max-ttl=20s", "--ttl=16s", "true"}, "invalid --ttl 16s with --grace 5s: together must be at most --max-ttl, 20s"},
		{[]string{"--name=x", masters, "--max-ttl=0s", "true"}, "invalid --max-ttl 0s: must be above 500ms"},
		{[]string{"--name=x", masters, "--prefix={a}", "true"}, `invalid --prefix "{a}": must not be empty or contain a brace`},
		{[]string{"--name=x", masters, "--ttl=never", "true"}, `invalid --ttl "never": must be a time such as 30s or 5m (redlock help run tells all flags)`},
		{[]string{"--name=x", masters, "--wait=5", "true"}, `invalid --wait "5": must have a unit: write 5s for seconds (redlock help run tells all flags)`},
		{[]string{"--name=x", masters, "--ttl=1.5", "true"}, `invalid --ttl "1.5": must have a unit: write 1.5s for seconds`},
		{[]string{"--name=x", masters, "-E", "256", "true"}, "invalid --conflict-exit-code 256: must be from 0 to 255"},
		{[]string{"--name=x", masters, "-E", "no", "true"}, `invalid --conflict-exit-code "no": must be a whole number`},
		{[]string{"--name=x", masters, "--conflict-exit-code=-1", "true"}, "invalid --conflict-exit-code -1: must be from 0 to 255"},
		{[]string{"--name=x", masters, "--lost-exit-code=0", "true"}, "invalid --lost-exit-code 0: must be from 1 to 255"},
		{[]string{"--name=x", masters, "--lost-exit-code=256", "true"}, "invalid --lost-exit-code 256: must be from 1 to 255"},
		{[]string{"--name=x", masters, "--grace=-1s", "true"}, "invalid --grace -1s: must not be negative"},
		{[]string{"--name=x", masters, "--grace=2562047h", "true"}, "invalid --grace 2562047h0m0s: must be at most 59.499s, so that a ttl of 501ms or more is left of the max ttl (1m0s)"},
		{[]string{"--name=x", masters, "--grace=2562047h", "--ttl=30s", "true"}, "together must be at most --max-ttl, 1m0s"},
		{[]string{"--name=" + strings.Repeat("x", 1025), masters, "true"}, "invalid --name of 1025 bytes: must be at most 1024"},
		{[]string{"--name=x", "--masters=redis://127.0.0.1:1,,redis://127.0.0.1:2", "true"}, "place 2 of --masters is empty: it must be a URL"},
		{[]string{"--name=x", "--masters=", "true"}, "place 1 of --masters is empty: it must be a URL"},
		{[]string{"--name=x", masters, masters, "true"}, "invalid place 2 of --masters 127.0.0.1:1: must not be the same server as place 1 of --masters"},
		{[]string{"--name=x", "--masters=redis://127.0.0.1:1,redis://localhost:1", "true"}, "invalid place 2 of --masters localhost:1: must not be the same server as place 1 of --masters"},
		{[]string{"--name=x", "--masters=127.0.0.1:6379", "true"}, "invalid place 1 of --masters (not shown, because it may hold a password): does not begin with redis:// or rediss://"},
		{[]string{"--name=x", masters, "--embedded", "true"}, "--masters and --embedded are both given: it must be one of them"},
		{[]string{"--foo", "true"}, "unknown flag --foo (redlock help run tells all flags)"},
		{[]string{"--nam=x", "true"}, `unknown flag --nam, did you mean "--name"? (redlock help run tells all flags)`},
		{[]string{"--name", "--ttl=1m", "true"}, `--name has no value before "--ttl=1m": write --name=--ttl=1m if that is it`},
		{[]string{masters, "--name=x", "--wait", "-1s", "true"}, `--wait has no value before "-1s": write --wait=-1s if that is it`},
		{[]string{"--name"}, "--name has no value (redlock help run tells all flags)"},
		{[]string{"--masters"}, "--masters has no value"},
		{[]string{"--embedded=x", "true"}, `invalid --embedded "x": takes no value`},
		{[]string{masters, "true", "--name", "x"}, "--name is after COMMAND, which gets it: flags go before COMMAND"},
		{[]string{"--name=x", "true", "--masters=redis://a"}, "--masters is after COMMAND, which gets it: flags go before COMMAND"},
		{[]string{"--name=x", "--masters=rediss://a,redis://b", "--tls-cert=/no/such/file", "true"}, "--tls-cert is /no/such/file: "},
		{[]string{"--name=x", "--masters=rediss://a?tls_ca=/no/such/file", "true"}, "invalid tls_ca of place 1 of --masters /no/such/file: "},
	} {
		r := redlockEnds(t, append([]string{"run"}, c.args...)...)
		if r.status != exitUsage || !strings.Contains(r.stderr, c.says) || r.stdout != "" {
			t.Errorf("%q: status %d, stderr %q; want %d and %q", c.args, r.status, r.stderr, exitUsage, c.says)
		}
		for line := range strings.Lines(r.stderr) {
			if !strings.HasPrefix(line, "redlock: ") || strings.Count(line, "redlock: ") != 1 {
				t.Errorf("%q: a line does not begin with one prefix: %q", c.args, line)
			}
		}
	}
	t.Run("from the environment", func(t *testing.T) {
		for value, says := range map[string]string{
			"redis://a,b":           "invalid place 2 of REDLOCK_MASTERS (not shown",
			"redis://a,":            "place 2 of REDLOCK_MASTERS is empty",
			"redis://a,redis://a/1": "invalid place 2 of REDLOCK_MASTERS a:6379: must not be the same server as place 1 of REDLOCK_MASTERS",
		} {
			cmd := command(t, "run", "--name=x", "true")
			cmd.Env = append(cmd.Env, mastersVariable+"="+value)
			if r := runToEnd(t, cmd); r.status != exitUsage || !strings.Contains(r.stderr, says) {
				t.Errorf("%s: status %d, stderr %q; want %q", value, r.status, r.stderr, says)
			}
		}
	})
	t.Run("within a command", func(t *testing.T) {
		cmd := command(t, "verify", "--name=x", "--token=1")
		cmd.Env = append(cmd.Env, tokenVariable+"=1")
		r := runToEnd(t, cmd)
		r.wants(t, exitUsage)
		says(t, "verify", r.stderr, "redlock run does not hand to its COMMAND", "give --masters and --password-file")
	})
	t.Run("all at once", func(t *testing.T) {
		r := redlockEnds(t, "run", "--ttl=1ms", "--grace=-1s")
		r.wants(t, exitUsage)
		if n := strings.Count(r.stderr, "\n"); n != 5 {
			t.Errorf("%d lines, want 5: %s", n, r.stderr)
		}
	})
}

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
	many := slices.Repeat([]string{"x"}, 100_000)
	for _, before := range [][]string{{"--"}, {}} {
		r := redlockEnds(t, slices.Concat([]string{"run", "--embedded", "--name=a"}, before, []string{"sh", "-c", "echo $#", "sh"}, many)...)
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

// Who uses another prefix has other locks, and a deployment of its own to init.
func TestPrefixAndMaxTTL(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	redlockEnds(t, "init", mastersFlag(masters), "--prefix=app", "--max-ttl=5m", "--yes").wants(t, 0)
	client := rival(t, masters, redlock.WithPrefix("app"))
	lock, err := client.Lock(t.Context(), "job")
	harness.Must(t, err)
	run := func(flags ...string) result {
		return redlockEnds(t, append(append([]string{"run", mastersFlag(masters), "--name=job", "--wait=0"}, flags...), "true")...)
	}
	run("--prefix=app", "--max-ttl=5m").wants(t, exitHeld)
	run("--prefix=app", "--max-ttl=5m", "--ttl=4m").wants(t, exitHeld)
	run("--wait=1m").wants(t, 0)
	harness.Must(t, lock.Unlock(t.Context()))
	const floor = 2_000_000_000_000_000
	redlockEnds(t, "init", mastersFlag(masters), "--prefix=app", "--floor", fmt.Sprint(int64(floor)), "--yes").wants(t, 0)
	lock, err = client.Lock(t.Context(), "job")
	harness.Must(t, err)
	if lock.Token() <= floor {
		t.Errorf("token %v: init raised other counters", lock.Token())
	}
	harness.Must(t, lock.Unlock(t.Context()))
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

func TestContendersExcludeEachOther(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	file := filepath.Join(t.TempDir(), "counter")
	harness.Must(t, os.WriteFile(file, []byte("0\n"), 0o600))
	const contenders, times = 3, 4
	var wg sync.WaitGroup
	for range contenders {
		wg.Go(func() {
			for range times {
				r := redlockEnds(t, "run", mastersFlag(masters), "--name=counter", "--",
					"sh", "-c", `n=$(cat "$0"); sleep 0.05; echo $((n+1)) > "$0"`, file)
				if r.status != 0 {
					t.Errorf("status %d: %s", r.status, r.stderr)
				}
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(file)
	harness.Must(t, err)
	if got := strings.TrimSpace(string(text)); got != fmt.Sprint(contenders*times) {
		t.Errorf("the counter is %s, want %d", got, contenders*times)
	}
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	cmd := command(t, "run", "--embedded", "--name=x", "--", "sh", "-c", "echo ready; read x; exit 3")
	stdin, err := cmd.StdinPipe()
	harness.Must(t, err)
	run := start(t, cmd)
	masters := strings.Split(run.line("--masters "), ",")
	run.line("ready")
	c, err := redlock.Open(masters)
	harness.Must(t, err)
	defer c.Close()
	// A first call may find masters that do not answer in time on a busy machine.
	for err = redlock.ErrNoQuorum; errors.Is(err, redlock.ErrNoQuorum); {
		_, err = c.TryLock(t.Context(), "x")
	}
	if !errors.Is(err, redlock.ErrHeld) {
		t.Errorf("a rival on %q got %v", masters, err)
	}
	harness.Must(t, stdin.Close())
	if status := run.status(); status != 3 {
		t.Errorf("status %d, want 3", status)
	}
}
