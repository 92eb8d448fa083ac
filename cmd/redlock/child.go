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

// child is the command that runs under the lock. Its process group has the number of its process.
type child struct {
	pid      int
	terminal *terminal // nil unless we are a job of an interactive shell
	kill     func(pid int, s syscall.Signal) error

	passedOn bool // a signal, to the child

	// states gets each stop, and then the end.
	states chan syscall.WaitStatus
}

// startChild starts the command in a process group of its own, with our standard streams.
func startChild(path string, command, env []string) (*child, error) {
	c := &child{terminal: controllingTerminal(), kill: syscall.Kill, states: make(chan syscall.WaitStatus, 1)}
	attr := &syscall.SysProcAttr{Setpgid: true}
	if c.terminal.isOurs() {
		attr.Foreground, attr.Ctty = true, c.terminal.fd
	}
	// The kernel sends the death signal when the thread that started the child ends. This goroutine
	// is main's and never unlocks its thread, which so lives as long as the process.
	runtime.LockOSThread()
	proc.EndWithParent(attr, syscall.SIGKILL) // nobody is left to see that it heeds anything milder, or to renew its lock
	p, err := os.StartProcess(path, command, &os.ProcAttr{
		Env:   env,
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   attr,
	})
	if err != nil {
		if attr.Foreground {
			c.terminal.giveTo(c.terminal.own) // the child had it before it could not be the command
		}
		return nil, fmt.Errorf("cannot run %s: %w", command[0], withoutOp(err))
	}
	c.pid = p.Pid
	_ = p.Release() // we wait for it ourselves: os.Process does not tell of stops
	go c.watch()
	return c, nil
}

// withoutOp strips "fork/exec path" from the error of a start.
func withoutOp(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// watch reports what becomes of the child, until it has ended. As the first process of a container
// it also reaps what the system hands over to it, also after that.
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

// signal sends s to the child's group. That it has ended is no error: it shows in states. One that
// has changed its user, as sudo does, cannot be signalled.
func (c *child) signal(s syscall.Signal) error {
	if err := c.kill(-c.pid, s); err != nil && err != syscall.ESRCH {
		return fmt.Errorf("signal %v: %w", s, err)
	}
	return nil
}

// groupExists reports whether there is anything left of the group. While there is, no other process
// can get its number.
func (c *child) groupExists() bool { return c.kill(-c.pid, 0) != syscall.ESRCH }

// toPassOn are the signals that users and service managers send to a command.
var toPassOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// catchSignals returns the signals to pass on. One that is ignored, as nohup does with HUP, is left
// so, and the child inherits that.
//
// We do not die of a pipe behind stdout or stderr that nobody reads: the command would go on alone.
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

// ends reports whether a signal ends a process that has made no arrangements for it, and so also
// our waiting for the lock. USR1 and USR2 would too, but whoever sends them means the command,
// which does not run yet.
func ends(s os.Signal) bool {
	switch s {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		return true
	}
	return false
}
