package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testskip"
)

// The program that runs the containers removes the containers when the harness has ended.
func TestContainersEndWithHarness(t *testing.T) {
	t.Parallel()
	c := start(t, Config{Engine: Docker, N: 1})
	m := c.Masters()[0]
	want(t, m, "PONG", "ping")
	check(t, c.engine.close())
	if got := do1(t, m, "ping"); got == "PONG" {
		t.Error("the container of a run that is over lives on")
	}
	c.closeOnce.Do(func() {})
	check(t, os.RemoveAll(c.folder))
}

// The test changes the environment, so it cannot call t.Parallel.
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
		t.Errorf("the choice is %s, and the log is %q", c.Engine(), log.String())
	}
	t.Setenv("CI", "true")
	if c, err := Start(t.Context(), Config{Log: t.Output()}); !errors.Is(err, ErrNoDocker) {
		t.Errorf("in CI: %v, %v", c, err)
	}
}
