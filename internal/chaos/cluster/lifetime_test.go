package cluster

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

func TestExpiredContainersEnd(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Engine: Docker, N: 1, Expire: time.Second})
	ends(t, c.Masters()[0])
	check(t, c.Masters()[0].Start())
	ends(t, c.Masters()[0]) // each start has an end of its own
}

// A harness that was killed holds no lock any more.
func TestNextStartSweeps(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("NOT TESTED: only Linux has small disks")
	}
	lost := start(t, Config{Engine: Docker, N: 1, SmallDisk: minDisk})
	abandon(t, lost)
	dir := lost.run.path
	kept := start(t, Config{Engine: Docker, N: 1})
	if lost.Masters()[0].Running() {
		t.Error("the container of a run that is over lives on")
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder is there: %v", err)
	}
	start(t, Config{Engine: Docker, N: 1})
	want(t, kept.Masters()[0], "PONG", "ping")
	if _, err := os.Stat(filepath.Join(kept.run.path, lockName)); err != nil {
		t.Errorf("the folder of a run that is on: %v", err)
	}
}

// abandon leaves a cluster as a harness does that is killed.
func abandon(t *testing.T, c *Cluster) {
	t.Helper()
	c.closeOnce.Do(func() {})
	check(t, c.run.lock.Close())
}

// Without t.Parallel, since it changes the environment.
func TestWithoutDocker(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	t.Setenv("CI", "")
	if c, err := Start(t.Context(), Config{Engine: Docker, Log: t.Output()}); !errors.Is(err, ErrNoDocker) {
		t.Errorf("Docker was asked for: %v, %v", c, err)
	}
	var log strings.Builder
	c, err := Start(t.Context(), Config{N: 1, Log: &log})
	testskip.IfLacking(t, err, redisproc.ErrNotInstalled)
	check(t, err)
	defer c.Close()
	if c.Engine() != Process || !strings.Contains(log.String(), "masters are processes: cluster: no Docker Engine") {
		t.Errorf("the choice is %s, and was told as %q", c.Engine(), log.String())
	}
	t.Setenv("CI", "true")
	if c, err := Start(t.Context(), Config{Log: t.Output()}); !errors.Is(err, ErrNoDocker) {
		t.Errorf("in CI: %v, %v", c, err)
	}
}
