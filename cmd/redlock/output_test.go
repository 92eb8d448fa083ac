package main

import (
	"bytes"
	"io/fs"
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
		{[]string{"help", "run"}, exitNotPrinted},
		{[]string{"version"}, exitNotPrinted},
		{[]string{"--version"}, exitNotPrinted},
		{[]string{"completion", "bash"}, exitNotPrinted},
		{[]string{"init", masters}, exitNotPrinted},
		{[]string{"init", masters, "--yes"}, exitNotPrinted},
		{[]string{"members", masters}, exitNotPrinted},
		{[]string{"members", masters, "--json"}, exitNotPrinted},
		{[]string{"members", "resume", masters, strings.TrimPrefix(strings.Split(masters, ",")[0], "--masters=")}, exitNotPrinted},
		{[]string{"status", masters, "--name=a"}, exitNotPrinted},
		{[]string{"status", masters, "--name=a", "--watch"}, exitNotPrinted},
		{[]string{"verify", masters, "--name=a", "--token=1"}, exitStale},
		{[]string{"doctor", masters}, exitFailed},
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

// The first error is the reason, whatever is written after it.
func TestOutputRemembersTheFirstError(t *testing.T) {
	t.Parallel()
	file, err := os.Create(t.TempDir() + "/out")
	harness.Must(t, err)
	o := &output{file: file}
	if _, err := o.Write([]byte("a")); err != nil || o.status(exitOK) != exitOK {
		t.Errorf("%v, %v", err, o.err)
	}
	harness.Must(t, file.Close())
	_, _ = o.Write([]byte("b"))
	first := o.err
	_, _ = o.Write([]byte("c"))
	if _, ok := first.(*fs.PathError); !ok || o.err != first || o.status(exitStale) != exitStale {
		t.Errorf("%v, then %v", first, o.err)
	}
}
