//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/redlock-go/redlock/internal/proc"
)

// child is the command that runs under the lock. The id of its process group is its process id.
type child struct {
	pid      int
	terminal *terminal // nil if stdin is not the controlling terminal
	kill     func(pid int, s syscall.Signal) error

	passedOn bool // whether a signal was passed to the child

	// states receives the child's state at each stop, and at its end.
	states chan syscall.WaitStatus
}

// startChild starts the command in a process group of its own, with the standard streams of this process.
func startChild(path string, command, env []string) (*child, error) {
	c := &child{terminal: controllingTerminal(), kill: syscall.Kill, states: make(chan syscall.WaitStatus, 1)}
	attr := &syscall.SysProcAttr{Setpgid: true}
	if c.terminal.isOurs() {
		attr.Foreground, attr.Ctty = true, c.terminal.fd
	}
	// The kernel sends the death signal when the thread that started the child ends. main's goroutine
	// runs here and never unlocks its thread, so the thread lives as long as the process.
	runtime.LockOSThread()
	proc.EndWithParent(attr, syscall.SIGKILL) // after our end nothing renews the lock, and nobody could send SIGKILL later
	p, err := os.StartProcess(path, command, &os.ProcAttr{
		Env:   env,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   attr,
	})
	if err != nil {
		if attr.Foreground {
			c.terminal.giveTo(c.terminal.own) // the child had the terminal when exec failed
		}
		return nil, fmt.Errorf("cannot run %s: %w", command[0], withoutOp(err))
	}
	c.pid = p.Pid
	_ = p.Release() // watch() waits for the child, because os.Process does not report stops
	go c.watch()
	return c, nil
}

// withoutOp removes "fork/exec path" from the error of a start.
func withoutOp(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// watch sends the child's stops and its end to the channel states. If this process is the first one of a container,
// watch also reaps the orphans that the kernel reparents to this process, even after the child has ended.
func (c *child) watch() {
	of, ended := c.pid, false
	if os.Getpid() == 1 {
		of = -1
	}
	for {
		var state syscall.WaitStatus
		switch pid, err := syscall.Wait4(of, &state, syscall.WUNTRACED, nil); {
		case err == syscall.EINTR, err == nil && pid != c.pid:
			continue
		case err == syscall.ECHILD && ended:
			return
		case err != nil:
			panic(fmt.Sprintf("wait for our own child %d: %v", c.pid, err))
		}
		c.states <- state
		if ended = !state.Stopped(); ended && of == c.pid {
			return
		}
	}
}

// signal sends s to the child's group. A group that has ended is no error: the channel states reports the
// end. A child that changed its user, as sudo does, cannot be signalled.
func (c *child) signal(s syscall.Signal) error {
	if err := c.kill(-c.pid, s); err != nil && err != syscall.ESRCH {
		return fmt.Errorf("signal %v: %w", s, err)
	}
	return nil
}

// groupExists reports whether the group has a process left. While it has one, no other process or
// group can get the group's id.
func (c *child) groupExists() bool { return c.kill(-c.pid, 0) != syscall.ESRCH }

// toPassOn lists the signals that users and service managers send to a command.
var toPassOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// catchSignals returns a channel of the signals to pass on. A signal that was ignored when this process began (nohup
// ignores HUP) stays ignored, by the child too.
//
// After the call, SIGPIPE does not end this process. If it did, the command would run on without us.
func catchSignals() <-chan os.Signal {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	c := make(chan os.Signal, 16)
	for _, s := range toPassOn {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c
}

// ends reports whether a signal ends the wait for the lock. SIGUSR1 and SIGUSR2 do not end the wait, although
// they end a process by default: they are meant for the command, and the command does not run yet.
func ends(s os.Signal) bool {
	switch s {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return false
}
