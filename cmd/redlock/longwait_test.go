//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// A wait says what it is for, and why it lasts.
func TestALongWaitIsTold(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	rivalLock(t, masters, "held")
	for _, s := range masters[2:] {
		s.Kill()
	}
	const down = "--masters=redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3"
	for _, c := range []struct {
		what, masters, says string
	}{
		{"all masters are down", down, "no quorum of masters (acquire \"held\", need 2 of 3: 127.0.0.1:1 unknown: dial tcp"},
		{"another holds the lock", mastersFlag(masters), fmt.Sprintf("held by process %d on ", os.Getpid())},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			waiting := start(t, command(t, "run", c.masters, "--name=held", "--", "echo", "ran"))
			for range 2 {
				if line := waiting.line(`redlock: waiting for "held" for `); !strings.Contains(line, "s: "+c.says) {
					t.Errorf("it says %q, want %q", line, c.says)
				}
			}
			waiting.signal(syscall.SIGTERM)
			if status := waiting.status(); status != 128+int(syscall.SIGTERM) {
				t.Errorf("status %d", status)
			}
		})
	}
}

// Who waits is told for whom, and that it waits for itself if it does.
func TestAWaitNamesTheHolder(t *testing.T) {
	t.Parallel()
	masters := mastersFlag(realMasters(t, 3))
	outer := start(t, command(t, "run", masters, "--name=a", "--", "sh", "-c",
		`"$0" run "$@" --name=b -- true && exec "$0" run "$@" --name=a -- true`, os.Args[0], masters))
	host, _ := os.Hostname()
	line := outer.line(`redlock: waiting for "a" for `)
	who := fmt.Sprintf("s: held by process %d on %s", outer.cmd.Process.Pid, host)
	says(t, "within a run of the same name it", line, who)
	outer.line(`this is within a redlock run that holds "a": if it is the same lock, it is waited for in vain`)
	other := start(t, command(t, "run", masters, "--name=a", "--", "true"))
	if line := other.line(`redlock: waiting for "a" for `); !strings.HasSuffix(line, who) {
		t.Errorf("elsewhere it says %q", line)
	}
	for _, run := range []*running{outer, other} {
		run.signal(syscall.SIGTERM)
		_ = run.status() // that of the command, or of the wait
	}
}
