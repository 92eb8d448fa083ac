package redisproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redlock-go/redlock/internal/proc"
)

// errPortTaken is returned if the server could not listen, because another process listens on its port.
var errPortTaken = errors.New("the port is taken")

// process is one run of redis-server, from its start to its reaping.
type process struct {
	cmd  *exec.Cmd
	dir  string
	port int

	// exited is closed once the process is reaped.
	exited chan struct{}

	// up is closed once the start has succeeded or failed; upErr may be read after that.
	up    chan struct{}
	upErr error
}

// spawn starts redis-server with the configuration in dir. It does not wait until the server serves: await() does.
func spawn(cfg Config, dir string, port int) (*process, error) {
	path, err := cfg.program()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(dir, logFile), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("redisproc: %w", err)
	}
	defer log.Close()

	cmd := exec.Command(path, filepath.Join(dir, configFile))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), cfg.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	proc.EndWithParent(cmd.SysProcAttr, syscall.SIGKILL)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("redisproc: %w", err)
	}

	p := &process{cmd: cmd, dir: dir, port: port, exited: make(chan struct{}), up: make(chan struct{})}
	go func() {
		defer close(p.exited)
		_ = cmd.Wait() // ProcessState has the status, and the log the reason
	}()
	return p, nil
}

func (c Config) program() (string, error) {
	if c.Program != "" {
		return c.Program, nil
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", fmt.Errorf("%w (%w)", ErrNotInstalled, err)
	}
	return path, nil
}

// await waits until the process serves. It kills a process that does not serve in time. At the end it closes
// p.up.
func (p *process) await() error {
	p.upErr = p.poll()
	if p.upErr != nil {
		p.kill()
	}
	close(p.up)
	return p.upErr
}

func (p *process) poll() error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if answers(p.port, p.cmd.Process.Pid) {
			return nil
		}
		select {
		case <-tick.C:
		case <-p.exited:
			text := p.logTail()
			if strings.Contains(text, "Address already in use") {
				return fmt.Errorf("redisproc: port %d: %w", p.port, errPortTaken)
			}
			return fmt.Errorf("redisproc: redis-server on port %d ended at its start (%s): %s",
				p.port, p.cmd.ProcessState, text)
		case <-deadline.C:
			return fmt.Errorf("redisproc: redis-server on port %d does not answer after %s: %s",
				p.port, startTimeout, p.logTail())
		}
	}
}

// kill ends the process, even a frozen one, and returns once it is reaped.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only for a process that has ended
	<-p.exited
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// logTail returns the last lines that the process wrote.
func (p *process) logTail() string {
	const most = 2048
	text, err := os.ReadFile(filepath.Join(p.dir, logFile))
	if err != nil {
		return err.Error()
	}
	if len(text) > most {
		text = text[len(text)-most:]
	}
	return strings.TrimSpace(string(text))
}
