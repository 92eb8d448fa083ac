package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redlock-go/redlock/internal/redisproc"
)

// processEngine runs redis-server processes.
type processEngine struct {
	preload string // the file that makes clocks settable
	noClock error
}

func newProcessEngine(ctx context.Context, folder string) *processEngine {
	dir := filepath.Join(folder, "preload")
	e := &processEngine{preload: filepath.Join(dir, "clock.so")}
	if err := errors.Join(os.MkdirAll(dir, 0o755), build(ctx, "--preload", dir)); err != nil {
		e.noClock = fmt.Errorf("%w: %w", ErrNoClock, err)
	}
	return e
}

func (e *processEngine) clock() error { return e.noClock }
func (e *processEngine) close() error { return nil }

func (e *processEngine) launch(at place) (server, error) {
	cfg := redisproc.Config{
		Dir:  at.data,
		Conf: map[string]string{"include": fmt.Sprintf("%q", filepath.Join(at.control, confName))},
	}
	for _, d := range directives {
		cfg.Conf[d.name] = d.value
	}
	if e.noClock == nil {
		cfg.Env = []string{"LD_PRELOAD=" + e.preload, clockEnv + "=" + filepath.Join(at.control, clockName)}
	}
	s, err := redisproc.Start(cfg)
	if err != nil {
		return nil, err
	}
	return process{s}, nil
}

type process struct{ s *redisproc.Server }

func (p process) addr() string  { return p.s.Addr() }
func (p process) running() bool { return p.s.Running() }
func (p process) start() error  { return p.s.Restart() }
func (p process) freeze() error { return p.s.Pause() }
func (p process) thaw() error   { return p.s.Resume() }
func (p process) remove() error { return p.s.Stop() }

func (p process) kill() error {
	p.s.Kill()
	return nil
}
