//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/internal/harness"
)

// The statuses of redlock's own can be chosen.
func TestOwnStatuses(t *testing.T) {
	t.Parallel()
	masters := realMasters(t, 3)
	rivalLock(t, masters, "held")
	for _, args := range [][]string{{"-E", "0"}, {"-E", "7"}, {"-E7"}, {"--conflict-exit-code=255"}} {
		want := map[string]int{"0": 0, "7": 7, "-E7": 7, "--conflict-exit-code=255": 255}[args[len(args)-1]]
		redlockEnds(t, append(append([]string{"run", mastersFlag(masters), "--name=held", "--wait=0"}, args...), "true")...).wants(t, want)
	}
	t.Run("that of a lock which is held is for no other failure", func(t *testing.T) {
		t.Parallel()
		masters := realMasters(t, 5)
		rivalLock(t, masters, "held")
		for _, s := range masters[:3] {
			s.Kill()
		}
		for _, masters := range []string{mastersFlag(masters), mastersFlag(blankMasters(t, 3))} {
			r := redlockEnds(t, "run", masters, "--name=held", "--wait=0", "-E0", "true")
			r.wants(t, exitUnavailable)
			says(t, "it", r.stderr, `redlock: "held" not obtained: `)
		}
	})
	t.Run("0 is told by nothing", func(t *testing.T) {
		t.Parallel()
		for _, wait := range []string{"0", (firstWord + time.Second).String()} {
			if r := redlockEnds(t, "run", mastersFlag(masters), "--name=held", "-E0", "--wait="+wait, "true"); r != (result{}) {
				t.Errorf("--wait=%s: %+v", wait, r)
			}
		}
	})
	t.Run("lost while the command runs", func(t *testing.T) {
		t.Parallel()
		masters := realMasters(t, 3)
		run := start(t, command(t, "run", mastersFlag(masters), "--name=a", "--ttl=1s", "--grace=0s", "--lost-exit-code=9", "-E7", "--", "sh", "-c", "echo ready; sleep 1000"))
		run.line("ready")
		freeze(t, masters[:2])
		if status := run.status(); status != 9 {
			t.Errorf("status %d, want 9", status)
		}
	})
	t.Run("lost before the command has ended", func(t *testing.T) {
		t.Parallel()
		masters := realMasters(t, 3)
		done := filepath.Join(t.TempDir(), "done")
		run := start(t, command(t, "run", mastersFlag(masters), "--name=a", "--lost-exit-code=9", "--", "sh", "-c",
			fmt.Sprintf("echo ready; while [ ! -e %s ]; do sleep 0.02; done", done)))
		run.line("ready")
		for _, s := range masters {
			c := redis.NewClient(&redis.Options{Addr: s.Addr()})
			defer c.Close()
			harness.Eventually(t, "it is held there", func() bool {
				keys, err := c.Keys(t.Context(), "*:lock:a").Result()
				harness.Must(t, err)
				return len(keys) == 1 && c.Del(t.Context(), keys...).Val() == 1
			})
		}
		harness.Must(t, os.WriteFile(done, nil, 0o600))
		if status := run.status(); status != 9 {
			t.Errorf("status %d, want 9", status)
		}
	})
}

func TestLines(t *testing.T) {
	t.Parallel()
	a, b := errors.New("redlock: one\n  and more"), errors.New("redlock: two")
	got := lines(errors.Join(a, errors.Join(b)))
	if len(got) != 2 || got[0] != "one; and more" || got[1] != "two" {
		t.Errorf("%q", got)
	}
}

// What a server says does not steer the terminal.
func TestServerWordsAreEscaped(t *testing.T) {
	t.Parallel()
	evil := errors.New("ERR \x1b[2J\x1b]0;title\a")
	const want = `ERR \x1b[2J\x1b]0;title\a`
	if got := lines(errors.Join(evil, evil)); len(got) != 2 || got[0] != want || got[1] != want {
		t.Errorf("lines are %q", got)
	}
}
