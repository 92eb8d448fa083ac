//go:build !unix

package main

import "errors"

func socketActivated() bool { return false }

// run needs the rights of Unix sockets, and signals.
func (cfg *agentConfig) run() int {
	complain(errors.New("agent is not available on this system: it needs the sockets and signals of Unix"))
	return exitUnavailable
}
