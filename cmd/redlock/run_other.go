//go:build !unix

package main

import "errors"

func socketActivated() bool { return false }

// run fails: redlock run needs process groups and signals.
func (cfg *runConfig) run() int { return notHere("run", "process groups") }

// run fails: redlock agent needs the rights of Unix sockets, and signals.
func (cfg *agentConfig) run() int { return notHere("agent", "sockets and signals") }

func notHere(command, needs string) int {
	complain(errors.New(command + " is not available on this system: it needs the " + needs + " of Unix"))
	return exitUnavailable
}
