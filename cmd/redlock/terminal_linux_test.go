package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock/internal/harness"
)

// Nobody renews the lock of a redlock that was killed: its command must not go on.
func TestKilledRedlockTakesTheCommandAlong(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	run := start(t, command(t, "run", mastersFlag(masters), "--name=job", "--", "sh", "-c", "echo ready $$; exec sleep 1000"))
	pid := number(t, run.line("ready"))
	run.signal(syscall.SIGKILL)
	_ = run.status()
	harness.Eventually(t, "the command has ended", func() bool { return exited(pid) })
}

// terminalOf starts cmd as the session leader of a new terminal, whose other end it returns.
func terminalOf(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	harness.Must(t, err)
	t.Cleanup(func() { keyboard.Close() })
	n, err := unix.IoctlGetUint32(int(keyboard.Fd()), unix.TIOCGPTN)
	harness.Must(t, err)
	harness.Must(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	harness.Must(t, err)
	t.Cleanup(func() { tty.Close() })
	cmd.Stdin = tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	return keyboard
}

// A command that reads the terminal can, and Ctrl-C reaches it.
func TestTerminal(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	t.Run("read", func(t *testing.T) {
		cmd := command(t, "run", mastersFlag(masters), "--name=read", "--", "sh", "-c", "echo ready; read x; echo got $x")
		keyboard := terminalOf(t, cmd)
		run := start(t, cmd)
		run.line("ready")
		_, err := keyboard.WriteString("word\n")
		harness.Must(t, err)
		if got := run.line("got"); got != "word" {
			t.Errorf("the command read %q", got)
		}
		if status := run.status(); status != 0 {
			t.Errorf("status %d", status)
		}
	})
	t.Run("interrupt", func(t *testing.T) {
		cmd := command(t, "run", mastersFlag(masters), "--name=int", "--", "sh", "-c", "echo ready; exec sleep 1000")
		keyboard := terminalOf(t, cmd)
		run := start(t, cmd)
		run.line("ready")
		_, err := keyboard.WriteString("\x03")
		harness.Must(t, err)
		if status := run.status(); status != 130 {
			t.Errorf("status %d, want 130", status)
		}
	})
	t.Run("interrupt the wait", func(t *testing.T) {
		rivalLock(t, masters, "wait")
		cmd := command(t, "run", mastersFlag(masters), "--name=wait", "--verbose", "--", "echo", "ran")
		keyboard := terminalOf(t, cmd)
		run := start(t, cmd)
		run.line("is up")
		_, err := keyboard.WriteString("\x03")
		harness.Must(t, err)
		if status := run.status(); status != 130 {
			t.Errorf("status %d, want 130", status)
		}
	})
}

// A script goes on reading after us.
func TestTerminalIsGivenBack(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	inner := command(t, "run", mastersFlag(masters), "--name=read", "--", "sh", "-c", "read x; echo got $x")
	cmd := command(t)
	cmd.Path = "/bin/sh"
	cmd.Args = append([]string{"sh", "-c", inner.Path + ` "$@"; read x; echo after $x`, "sh"}, inner.Args[1:]...)
	keyboard := terminalOf(t, cmd)
	run := start(t, cmd)
	_, err := keyboard.WriteString("one\ntwo\n")
	harness.Must(t, err)
	if got := run.line("got"); got != "one" {
		t.Errorf("the command read %q", got)
	}
	if got := run.line("after"); got != "two" {
		t.Errorf("the script read %q", got)
	}
	if status := run.status(); status != 0 {
		t.Errorf("status %d", status)
	}
}

// … also when the command could not be run, which the kernel tells after it has given the terminal
// away.
func TestTerminalIsGivenBackByNoCommand(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	noProgram := filepath.Join(t.TempDir(), "text")
	harness.Must(t, os.WriteFile(noProgram, []byte{0, 1, 2}, 0o700))
	inner := command(t, "run", mastersFlag(masters), "--name=read", "--", noProgram)
	cmd := command(t)
	cmd.Path = "/bin/sh"
	cmd.Args = append([]string{"sh", "-c", inner.Path + ` "$@"; echo status $?; read x; echo after $x`, "sh"}, inner.Args[1:]...)
	keyboard := terminalOf(t, cmd)
	run := start(t, cmd)
	if got := run.line("status"); got != "126" {
		t.Errorf("status %s", got)
	}
	_, err := keyboard.WriteString("word\n")
	harness.Must(t, err)
	if got := run.line("after"); got != "word" {
		t.Errorf("the script read %q", got)
	}
}

// Ctrl-Z stops the command and redlock, and the shell gets the terminal; when it continues the job,
// the command reads the terminal again.
func TestJobControl(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	inner := command(t, "run", mastersFlag(masters), "--name=job", "--", "sh", "-c", "echo ready $$; read x; echo first $x; read x; echo got $x")
	// A shell with job control (-m), for which it takes the terminal on its stderr. It says when
	// its job has stopped.
	script := fmt.Sprintf(`exec 2>/dev/tty; set -m; %s "$@"; echo stopped $?; read x; fg; echo status $?`, inner.Path)
	cmd := command(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	cmd.Path = bash
	cmd.Args = append([]string{"bash", "-c", script, "bash"}, inner.Args[1:]...)
	keyboard := terminalOf(t, cmd)
	run := start(t, cmd)
	child := number(t, run.line("ready"))
	write := func(keys string) {
		_, err := keyboard.WriteString(keys)
		harness.Must(t, err)
	}
	write("word\n")
	if got := run.line("first"); got != "word" {
		t.Errorf("the command read %q", got)
	}
	write("\x1a")
	if got := run.line("stopped"); got != "148" { // 128 + SIGTSTP
		t.Errorf("the job stopped with %s, want 148", got)
	}
	if state := processState(child); state != "T" {
		t.Errorf("the command is in state %q, want stopped", state)
	}
	write("to the shell\n")
	harness.Eventually(t, "the command goes on", func() bool { return strings.Contains("SR", processState(child)) })
	write("word\n")
	if got := run.line("got"); got != "word" {
		t.Errorf("the command read %q", got)
	}
	if got := run.line("status"); got != "0" {
		t.Errorf("status %s, want 0", got)
	}
}

// onScreen runs cmd on a terminal of 100 columns, and returns what it has shown, as it comes, until
// it ends.
func onScreen(t *testing.T, cmd *exec.Cmd) (keyboard *os.File, shown <-chan string) {
	t.Helper()
	cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=")
	screen := terminalOf(t, cmd)
	tty := cmd.Stdin.(*os.File)
	harness.Must(t, unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 24}))
	cmd.Stdout, cmd.Stderr = tty, tty
	harness.Must(t, cmd.Start())
	harness.Must(t, tty.Close()) // so that reading ends with the command
	all := make(chan string, 1000)
	go func() {
		defer close(all)
		var so strings.Builder
		for b := make([]byte, 4096); ; {
			n, err := screen.Read(b)
			if so.Write(b[:n]); err != nil {
				return
			}
			all <- so.String()
		}
	}()
	return screen, all
}

// untilShown waits until the screen has shown a text, "" for the end, and returns all that it has.
func untilShown(t *testing.T, shown <-chan string, text string) (all string) {
	t.Helper()
	for now := range shown {
		if all = now; text != "" && strings.Contains(all, text) {
			return all
		}
	}
	if text != "" {
		t.Fatalf("%q is not in %q", text, all)
	}
	return all
}

// On a terminal it asks, and whatever is not yes is no.
func TestUnlockAsks(t *testing.T) {
	t.Parallel()
	masters := flagOf(blankServers(t, 3)...)
	initialise(t, masters)
	_, token, end := holderOf(t, "nightly", masters)
	defer end()
	for _, c := range []struct {
		answer string
		status int
		holds  string
	}{{"y\n", exitDeclined, "valid"}, {"\x04", exitDeclined, "valid"}, {"yes\n", exitOK, "stale"}} {
		cmd := command(t, "unlock", masters, "--force", "--name=nightly")
		keyboard, shown := onScreen(t, cmd)
		says(t, "it", untilShown(t, shown, "Take the lock? [yes/no] "), token)
		_, err := keyboard.WriteString(c.answer)
		harness.Must(t, err)
		untilShown(t, shown, "")
		_ = cmd.Wait()
		if status := cmd.ProcessState.ExitCode(); status != c.status {
			t.Errorf("%q: status %d, want %d", c.answer, status, c.status)
		}
		if r := redlockEnds(t, "verify", masters, "--name=nightly", "--token", token); !strings.Contains(r.stdout, c.holds) {
			t.Errorf("%q: %s", c.answer, r.stdout)
		}
	}

	cmd := command(t, "unlock", masters, "--force", "--name=other")
	keyboard, shown := onScreen(t, cmd)
	untilShown(t, shown, "Nobody has the lock, so only its token would move on. Is that what you want? [yes/no] ")
	_, err := keyboard.WriteString("no\n")
	harness.Must(t, err)
	untilShown(t, shown, "")
	_ = cmd.Wait()
	if status := cmd.ProcessState.ExitCode(); status != exitDeclined {
		t.Errorf("of a name that nobody has: status %d", status)
	}
}
