package cluster

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start starts masters. If the engine of cfg is missing, the test is skipped, or fails in CI.
func start(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	cfg.Log = t.Output()
	c, err := Start(t.Context(), cfg)
	testskip.IfLacking(t, err, ErrNoDocker, redisproc.ErrNotInstalled)
	check(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func do1(t *testing.T, m Master, command string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var args []any
	for _, word := range strings.Fields(command) {
		args = append(args, word)
	}
	reply, err := m.Do(ctx, args...)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(reply)
}

func want(t *testing.T, m Master, reply, command string) {
	t.Helper()
	if got := do1(t, m, command); got != reply {
		t.Errorf("%s on %s: %q, want %q", command, m.Name(), got, reply)
	}
}

func TestFsync(t *testing.T) {
	t.Parallel()
	for fsync, conf := range map[Fsync][]string{
		Always:   {"appendonly yes", "appendfsync always", "maxmemory-policy noeviction", "save "},
		EverySec: {"appendonly yes", "appendfsync everysec", "maxmemory-policy noeviction", "save "},
		None:     {"appendonly no", "maxmemory-policy noeviction", "save "},
	} {
		t.Run(string(fsync), func(t *testing.T) {
			t.Parallel()
			c := start(t, Config{Engine: Process, N: 1, Fsync: fsync})
			m := c.Masters()[0]
			for _, line := range conf {
				name, _, _ := strings.Cut(line, " ")
				want(t, m, "["+line+"]", "config get "+name)
			}
			if c.Fsync() != fsync {
				t.Errorf("fsync is %s", c.Fsync())
			}
			want(t, m, "OK", "set a 1")
			check(t, m.Kill())
			check(t, m.Start())
			left := map[Fsync]string{Always: "1", EverySec: "1", None: "0"}
			want(t, m, left[fsync], "dbsize")
		})
	}
}
