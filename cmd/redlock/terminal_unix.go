//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal, on which a shell with job control runs us. Who reads it
// must be in its foreground process group: that has to be the child's while the child runs, and
// ours again when it has ended.
type terminal struct {
	fd  int
	own int // our process group
}

// controllingTerminal returns the terminal on stdin, or nil.
func controllingTerminal() *terminal {
	fd := int(os.Stdin.Fd())
	if _, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP); err != nil {
		return nil // no terminal, or not the one that controls us
	}
	// A process in the background that gives the terminal away is stopped with SIGTTOU unless it
	// ignores that. The child inherits it, which matters only to what writes in the background
	// after "stty tostop".
	signal.Ignore(syscall.SIGTTOU)
	return &terminal{fd: fd, own: unix.Getpgrp()}
}

// isOurs reports whether we are in the foreground. In the background ("redlock run … &") the
// terminal is somebody else's.
func (t *terminal) isOurs() bool { return t != nil && t.foreground() == t.own }

func (t *terminal) foreground() int {
	pgrp, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return pgrp
}

func (t *terminal) giveTo(pgrp int) { _ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, pgrp) }

// takeTerminalBack makes us the foreground again, unless it was not the child's. A shell with job
// control does that itself; a script that runs us does not, and its next line may read.
func (c *child) takeTerminalBack() {
	if c.terminal != nil && c.terminal.foreground() == c.pid {
		c.terminal.giveTo(c.terminal.own)
	}
}

// suspend follows a child that was stopped by the terminal: Ctrl-Z, or reading in the background.
// Our whole job stops then, as it would have if the child were not in a group of its own, and the
// shell gets its prompt. When the job continues, so does the child, if the lock is still valid;
// hold sees to a lost one.
//
// A child that was stopped by SIGSTOP is left so, and its lock is held: whoever stopped it knows
// nothing of us, and a redlock that is stopped could not stop a child that goes on.
func (c *child) suspend(by syscall.Signal, valid func() bool) {
	if c.terminal == nil || by == syscall.SIGSTOP {
		return
	}
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-continued:
	case <-time.After(stopTime):
		// No shell could continue us, so the kernel did not stop us either: Ctrl-Z means nothing
		// here. (Or we were stopped, and the timer won.)
	}
	if !valid() {
		return
	}
	if c.terminal.isOurs() {
		c.terminal.giveTo(c.pid)
	}
	_ = c.signal(syscall.SIGCONT)
}

// stopTime is more than it takes from a signal until all threads have stopped.
const stopTime = 100 * time.Millisecond

// interruptJob passes Ctrl-C on to the rest of our job, which the terminal did not ask as it was
// the child's: a script that runs us should not go on to its next line. (bash does, because we do
// not die of the signal but return 130.)
func (c *child) interruptJob(state syscall.WaitStatus) {
	if c.terminal == nil || c.passedOn || !state.Signaled() {
		return
	}
	if s := state.Signal(); s == syscall.SIGINT || s == syscall.SIGQUIT {
		_ = syscall.Kill(0, s)
	}
}
