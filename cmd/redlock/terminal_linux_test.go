package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock/internal/harness"
)

// When redlock is killed, nothing renews its lock, so its command must not go on.
func TestKilledRedlockKillsCommand(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	run := start(t, command(t, "run", mastersFlag(masters), "--name=job", "--", "sh", "-c", "echo ready $$; exec sleep 1000"))
	pid := number(t, run.line("ready"))
	run.signal(syscall.SIGKILL)
	_ = run.status()
	harness.Eventually(t, "the command has ended", func() bool { return exited(pid) })
}

// terminalOf starts cmd as the session leader of a new terminal. It returns the other end of the terminal.
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

// Ctrl-C ends the command, and ends a wait for the lock.
func TestTerminal(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
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

// Ctrl-Z stops the command and redlock, and the shell gets the terminal. After fg the command reads from it again.
func TestJobControl(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	inner := command(t, "run", mastersFlag(masters), "--name=job", "--", "sh", "-c", "echo ready $$; read x; echo first $x; read x; echo got $x")
	// The script turns on job control (-m), for which the shell uses the terminal on its stderr. It prints
	// a line when its job has stopped.
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
