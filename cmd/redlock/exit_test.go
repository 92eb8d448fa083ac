//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"
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
	redlockEnds(t, "run", "--masters=redis://127.0.0.1:1", "--name=a", "--wait=0", "-E7", "true").wants(t, 7)

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
			eventually(t, "it is held there", func() bool {
				keys, err := c.Keys(t.Context(), "*:lock:a").Result()
				must(t, err)
				return len(keys) == 1 && c.Del(t.Context(), keys...).Val() == 1
			})
		}
		must(t, os.WriteFile(done, nil, 0o600))
		if status := run.status(); status != 9 {
			t.Errorf("status %d, want 9", status)
		}
	})
}
