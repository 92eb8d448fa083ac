//go:build unix

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/proc"
)

// clients has the client processes of a round, and implements fault.Processes. Several goroutines may call the methods
// at the same time.
type clients struct {
	binary  string
	dir     string // of the history
	clock   history.Clock
	options func(number, life int) []string

	mu    sync.Mutex
	procs []*process // by number
	lives []int
	ended []error // of clients that ended by themselves or failed
}

// process is one life of a client.
type process struct {
	cmd    *exec.Cmd
	stderr *os.File
	exited chan struct{}

	// Guarded by clients.mu.
	stopped bool
	wanted  bool // whether the harness ended the process
}

var _ fault.Processes = (*clients)(nil)

func newClients(n int, binary, dir string, clock history.Clock, options func(number, life int) []string) *clients {
	return &clients{
		binary: binary, dir: dir, clock: clock, options: options,
		procs: make([]*process, n), lives: make([]int, n),
	}
}

func clientName(number int) string { return fmt.Sprint("c", number) }

// Restart starts the client's next life. It does nothing if the client runs.
func (c *clients) Restart(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.number(name)
	if err != nil || c.procs[i] != nil {
		return err
	}
	c.lives[i]++
	file := filepath.Join(c.dir, fmt.Sprintf("%s-%d", name, c.lives[i]))
	stderr, err := os.Create(file + ".log")
	if err != nil {
		return fmt.Errorf("chaos: %w", err)
	}
	p := &process{stderr: stderr, exited: make(chan struct{})}
	p.cmd = exec.Command(c.binary, append(c.options(i, c.lives[i]),
		"-number", fmt.Sprint(i), "-life", fmt.Sprint(c.lives[i]),
		"-history", file+history.Ext)...)
	p.cmd.Env = append(os.Environ(), history.ClockEnv+"="+c.clock.String())
	p.cmd.Stderr = stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	proc.EndWithParent(p.cmd.SysProcAttr, syscall.SIGKILL)
	if err := p.cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("chaos: client %s: %w", name, err), stderr.Close())
	}
	c.procs[i] = p
	go c.await(name, p)
	return nil
}

// await waits for the end of a process. It records an error if the process failed, or ended without Kill or end.
func (c *clients) await(name string, p *process) {
	err := errors.Join(p.cmd.Wait(), p.stderr.Close())
	c.mu.Lock()
	defer c.mu.Unlock()
	if !p.wanted || err != nil && p.cmd.ProcessState.Exited() {
		c.ended = append(c.ended, fmt.Errorf("chaos: client %s ended (%v) and said: %s", name, p.cmd.ProcessState, tail(p.stderr.Name())))
	}
	close(p.exited)
}

// tail returns the end of a file.
func tail(path string) string {
	const most = 4000
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text[max(0, len(text)-most):]))
}

// Kill ends the client with SIGKILL, even if the client is stopped. It does nothing if the client is down.
func (c *clients) Kill(name string) error {
	c.mu.Lock()
	i, err := c.number(name)
	if err != nil || c.procs[i] == nil {
		c.mu.Unlock()
		return err
	}
	p := c.procs[i]
	p.wanted = true
	c.procs[i] = nil
	c.mu.Unlock()
	_ = p.cmd.Process.Kill() // fails only if the process has ended
	<-p.exited
	return nil
}

// Stop sends SIGSTOP to the client, and Continue sends SIGCONT. Both do nothing if the client is down.
func (c *clients) Stop(name string) error     { return c.signal(name, true) }
func (c *clients) Continue(name string) error { return c.signal(name, false) }

func (c *clients) signal(name string, stop bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, err := c.number(name)
	if err != nil || c.procs[i] == nil || c.procs[i].stopped == stop {
		return err
	}
	s := syscall.SIGCONT
	if stop {
		s = syscall.SIGSTOP
	}
	if err := c.procs[i].cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("chaos: client %s: %w", name, err)
	}
	c.procs[i].stopped = stop
	return nil
}

// number returns the number of the client. The caller must hold mu.
func (c *clients) number(name string) (int, error) {
	for i := range c.procs {
		if clientName(i) == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("chaos: there is no client %q", name)
}

// endTime is how long clients may take to unlock and end.
const endTime = 30 * time.Second

// end sends SIGTERM to all clients, and kills the clients that still run after the time given. It returns all errors.
func (c *clients) end(within time.Duration) error {
	for i := range c.procs {
		if err := c.Continue(clientName(i)); err != nil {
			return err
		}
	}
	c.mu.Lock()
	procs := slices.Clone(c.procs)
	for _, p := range procs {
		if p != nil {
			p.wanted = true
			_ = p.cmd.Process.Signal(syscall.SIGTERM) // fails only if the process has ended
		}
	}
	c.mu.Unlock()

	patience, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var late []error
	for i, p := range procs {
		if p == nil {
			continue
		}
		select {
		case <-p.exited:
		case <-patience.Done():
			_ = p.cmd.Process.Kill()
			<-p.exited
			late = append(late, fmt.Errorf("chaos: client %s did not end within %s and was killed", clientName(i), within))
		}
	}
	return errors.Join(append(late, c.failed())...)
}

// failed returns an error if a client has ended by itself or failed. Then the round cannot go on.
func (c *clients) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.ended...)
}
