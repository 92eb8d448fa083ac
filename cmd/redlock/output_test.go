package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
)

// fullDisk runs redlock with a stdout that takes nothing.
func fullDisk(t *testing.T, args ...string) result {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if os.IsNotExist(err) {
		t.Skip("this system has no /dev/full")
	}
	harness.Must(t, err)
	defer full.Close()
	cmd := command(t, args...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &stderr
	_ = cmd.Run() // its status tells
	return result{status: cmd.ProcessState.ExitCode(), stderr: stderr.String()}
}

// What was done and could not be told is no success: the caller of a script would go on with
// nothing.
func TestStdoutThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	masters := flagOf(blankServers(t, 3)...)
	const line = "redlock: stdout cannot be written, so what was printed is not complete: no space left on device\n"
	for _, c := range []struct {
		args   []string
		status int
	}{
		{[]string{"help"}, exitNotPrinted},
		{[]string{"version"}, exitNotPrinted},
		{[]string{"completion", "bash"}, exitNotPrinted},
		{[]string{"init", masters}, exitNotPrinted},
		{[]string{"init", masters, "--yes"}, exitNotPrinted},
		{[]string{"members", masters}, exitNotPrinted},
		{[]string{"members", masters, "--json"}, exitNotPrinted},
		{[]string{"members", "resume", masters, strings.TrimPrefix(strings.Split(masters, ",")[0], "--masters=")}, exitNotPrinted},
		{[]string{"status", masters, "--name=a"}, exitNotPrinted},
		{[]string{"verify", masters, "--name=a", "--token=1"}, exitStale},
		{[]string{"doctor", masters}, exitWarning},
	} {
		r := fullDisk(t, c.args...)
		if r.status != c.status || !strings.HasSuffix(r.stderr, line) {
			t.Errorf("%q: status %d, stderr %q; want %d and %q", c.args, r.status, r.stderr, c.status, line)
		}
	}

	_, held, _ := holderOf(t, "a", masters)
	r := fullDisk(t, "unlock", masters, "--force", "--yes", "--name=a")
	r.wants(t, exitNotPrinted)
	_, after, _ := strings.Cut(r.stderr, `redlock: the fencing token of "a" is `)
	token, _, found := strings.Cut(after, " now: give it to every store")
	if !found || parsed(t, token) <= parsed(t, held) {
		t.Errorf("the token is lost: %q", r.stderr)
	}

	// A reader that has enough ends the command as it ends any other.
	read, write, err := os.Pipe()
	harness.Must(t, err)
	harness.Must(t, read.Close())
	cmd := command(t, "help")
	cmd.Stdout = write
	_ = cmd.Run() // its status tells
	harness.Must(t, write.Close())
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGPIPE {
		t.Errorf("with no reader it ended with %v", cmd.ProcessState)
	}
}
