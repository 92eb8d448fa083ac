package redisproc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/proc"
)

// ErrNotInstalled is returned by Start, StartN and Restart if there is no redis-server on the
// PATH.
var ErrNotInstalled = errors.New("redisproc: redis-server is not on the PATH: install it " +
	"(apt-get install redis-server, brew install redis) or add its folder to PATH")

// ErrNotRunning is returned by Pause and Resume when the server is down.
var ErrNotRunning = errors.New("redisproc: the server is not running")

// ErrRunning is returned by Wipe when the server is up.
var ErrRunning = errors.New("redisproc: the server is running")

// ErrStopped is returned by Restart and Wipe after Stop.
var ErrStopped = errors.New("redisproc: the server was stopped")

// Server is one master that keeps its port and folder over crashes. All methods may be called at
// the same time from several goroutines.
type Server struct {
	cfg   Config
	dir   string
	owned bool
	port  int

	// mu guards the fields below. It is held to start a process and to wipe, so that the two exclude each other. It is
	// never held during a wait for a process.
	mu      sync.Mutex
	proc    *process // the latest run, which may have ended
	stopped bool
}

// Start starts a server and returns once it serves commands. An error contains the end of the server's log.
// If there is no redis-server, the error is ErrNotInstalled. The caller must call Stop.
func Start(cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	dir, owned, err := cfg.prepareDir()
	if err != nil {
		return nil, fmt.Errorf("redisproc: %w", err)
	}
	s := &Server{cfg: cfg, dir: dir, owned: owned}
	if err := s.startOnFreePort(); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// startOnFreePort starts the process on a free port. If the port is taken meanwhile, it tries another port.
func (s *Server) startOnFreePort() error {
	var err error
	for range 10 {
		if s.port, err = proc.FreePort(); err != nil {
			return err
		}
		if err = s.cfg.write(s.dir, s.port); err != nil {
			return fmt.Errorf("redisproc: %w", err)
		}
		if err = s.startOnce(); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// StartN starts n servers at the same time, all with cfg. If cfg has a Dir, each server gets a folder of its own in
// this Dir, named "1" to "n". If one server fails, StartN stops the others, and returns the joined errors
// (ErrNotInstalled only once).
func StartN(n int, cfg Config) ([]*Server, error) {
	if _, err := cfg.program(); err != nil {
		return nil, err
	}
	servers := make([]*Server, n)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			own := cfg
			if cfg.Dir != "" {
				own.Dir = filepath.Join(cfg.Dir, fmt.Sprint(i+1))
			}
			servers[i], errs[i] = Start(own)
		})
	}
	wg.Wait()

	err := errors.Join(errs...)
	if err == nil {
		return servers, nil
	}
	for _, s := range servers {
		if s != nil {
			err = errors.Join(err, s.Stop())
		}
	}
	return nil, err
}

// Addr returns "127.0.0.1:port". It stays the same over restarts.
func (s *Server) Addr() string { return loopback(s.port) }

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// URL returns "redis://127.0.0.1:port".
func (s *Server) URL() string { return "redis://" + s.Addr() }

// Port returns the port, which stays the same over restarts.
func (s *Server) Port() int { return s.port }

// Dir returns the folder of the data, the configuration and the log, as an absolute path.
func (s *Server) Dir() string { return s.dir }

// PID returns the process id, or 0 when the server is down.
func (s *Server) PID() int {
	if p := s.alive(); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// Running reports whether there is a process, paused or not.
func (s *Server) Running() bool { return s.alive() != nil }

func (s *Server) alive() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.aliveLocked()
}

// aliveLocked does what alive() does, for callers that hold mu.
func (s *Server) aliveLocked() *process {
	if s.proc == nil || !s.proc.running() {
		return nil
	}
	return s.proc
}

// Kill ends the process with SIGKILL, even a paused one, and returns once it is gone. It does
// nothing if the server is down. The folder is unchanged.
func (s *Server) Kill() {
	if p := s.alive(); p != nil {
		p.kill()
	}
}

// Pause freezes the process with SIGSTOP: the kernel still accepts connections, and keeps requests,
// which are served after Resume. A second Pause does nothing. The error is ErrNotRunning if the
// server is down.
func (s *Server) Pause() error { return s.signal(Freeze) }

// Resume thaws the process with SIGCONT. It does nothing if the process is not paused. The error is
// ErrNotRunning if the server is down.
func (s *Server) Resume() error { return s.signal(Thaw) }

func (s *Server) signal(send func(*os.Process) error) error {
	p := s.alive()
	if p == nil {
		return ErrNotRunning
	}
	err := send(p.cmd.Process)
	if errors.Is(err, os.ErrProcessDone) {
		return ErrNotRunning
	}
	return err
}

// Restart starts a server that is down, with the same port, folder and AOF. It returns once the server serves commands.
// It does nothing if the server is up: call Kill first. An error contains the end of the server's log. After Stop, the
// error is ErrStopped.
func (s *Server) Restart() error {
	// The port cannot change any more, because clients use it. If another process has taken the port, wait until it is
	// free again.
	deadline := time.Now().Add(startTimeout)
	for {
		err := s.startOnce()
		if !errors.Is(err, errPortTaken) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(pollInterval)
	}
}

// startOnce starts a process, or waits for one that another goroutine has just started.
func (s *Server) startOnce() error {
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		return ErrStopped
	}
	if p := s.aliveLocked(); p != nil {
		s.mu.Unlock()
		<-p.up
		return p.upErr
	}
	p, err := spawn(s.cfg, s.dir, s.port)
	if err == nil {
		s.proc = p
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return p.await()
}

// Wipe removes the AOF and the RDB file of a server that is down, so that Restart starts it without data. Wipe does
// not remove files whose names Conf has changed. The error is ErrRunning if the server is up.
func (s *Server) Wipe() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return ErrStopped
	}
	if s.aliveLocked() != nil {
		return ErrRunning
	}
	for _, name := range []string{"appendonlydir", "appendonly.aof", "dump.rdb"} {
		if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
			return fmt.Errorf("redisproc: %w", err)
		}
	}
	return nil
}

// Stop ends the process for good, even a paused one, and removes a temporary folder. It can be
// called again.
func (s *Server) Stop() error {
	s.mu.Lock()
	s.stopped = true
	p := s.proc
	s.mu.Unlock()
	if p != nil {
		p.kill()
	}
	if !s.owned {
		return nil
	}
	return os.RemoveAll(s.dir)
}
