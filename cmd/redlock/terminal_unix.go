//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is the controlling terminal, on which a shell with job control runs us. Only its foreground
// process group can read from it. So the foreground group must be the child's group while the child runs, and
// our group again afterwards.
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
	// A background process that sets the terminal's group is stopped with SIGTTOU, unless it ignores this signal. The
	// child then ignores SIGTTOU too, which matters only for its writes in the background after "stty tostop".
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
// control does this itself. A script that runs us does not, and its next line may read from the terminal.
func (c *child) takeTerminalBack() {
	if c.terminal != nil && c.terminal.foreground() == c.pid {
		c.terminal.giveTo(c.terminal.own)
	}
}

// suspend stops our whole job after the terminal stopped the child. (The terminal does so at Ctrl-Z, or if the child
// reads in the background.) So the shell shows its prompt, as if the child were in our group. When the job continues,
// suspend continues the child if the lock is still valid. If the lock is lost, hold() ends the child.
//
// If SIGSTOP stopped the child, only the child stays stopped: we go on and keep its lock. The sender did not
// mean us. If we stopped too, we could not end a child that continues after the lock was lost.
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
		// We were not stopped: the kernel ignores SIGTSTP if no shell could continue the group. So Ctrl-Z has no
		// effect. (Or we were stopped and continued, but select chose the timer.)
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

// interruptJob sends SIGINT or SIGQUIT to the rest of our job, if Ctrl-C or Ctrl-\ ended the child: the terminal
// sent the signal to the child's group only. So a script that runs us ends too, and does not run its next line. (Our
// exit status 130 alone does not stop bash: the signal itself would have to end us.)
func (c *child) interruptJob(state syscall.WaitStatus) {
	if c.terminal == nil || c.passedOn || !state.Signaled() {
		return
	}
	if s := state.Signal(); s == syscall.SIGINT || s == syscall.SIGQUIT {
		_ = syscall.Kill(0, s)
	}
}
