//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal, on which a shell with job control runs us. Only processes in its
// foreground process group can read it: that must be the child's group while the child runs, and
// ours again afterwards.
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
	// A background process that sets the terminal's group is stopped with SIGTTOU unless it ignores that. The child
	// ignores it too, which matters only for writes in the background after "stty tostop".
	signal.Ignore(syscall.SIGTTOU)
	return &terminal{fd: fd, own: unix.Getpgrp()}
}

// isOurs reports whether our group is in the foreground. For a job in the background ("redlock run … &") it is not.
func (t *terminal) isOurs() bool { return t != nil && t.foreground() == t.own }

func (t *terminal) foreground() int {
	pgrp, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return pgrp
}

func (t *terminal) giveTo(pgrp int) { _ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, pgrp) }

// takeTerminalBack puts our group into the foreground again, if the child's group was there. A shell with job
// control does so itself; a script that runs us does not, and its next line may read.
func (c *child) takeTerminalBack() {
	if c.terminal != nil && c.terminal.foreground() == c.pid {
		c.terminal.giveTo(c.terminal.own)
	}
}

// suspend stops our whole job after the terminal stopped the child (Ctrl-Z, or reading in the background),
// as if the child were not in a group of its own, so that the shell shows its prompt. When
// the job continues, it continues the child if the lock is still valid; hold handles a lost lock.
//
// A child stopped by SIGSTOP stays stopped, and its lock is held: the sender did not mean us, and
// a stopped redlock could not stop a child that continues.
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
		// No shell can continue us, so the kernel did not stop us either, and Ctrl-Z has no effect. (Or we
		// were stopped, and the timer won.)
	}
	if !valid() {
		return
	}
	if c.terminal.isOurs() {
		c.terminal.giveTo(c.pid)
	}
	_ = c.signal(syscall.SIGCONT)
}

// stopTime is longer than all threads take to stop after a signal.
const stopTime = 100 * time.Millisecond

// interruptJob sends SIGINT to the rest of our job, because the terminal sent Ctrl-C to the child's group only: a
// script that runs us should not continue with its next line. (bash does, because we return 130 instead of
// ending by the signal.)
func (c *child) interruptJob(state syscall.WaitStatus) {
	if c.terminal == nil || c.passedOn || !state.Signaled() {
		return
	}
	if s := state.Signal(); s == syscall.SIGINT || s == syscall.SIGQUIT {
		_ = syscall.Kill(0, s)
	}
}
