//go:build !unix

package main

import "errors"

// run needs process groups and signals.
func (cfg *runConfig) run() int {
	complain(errors.New("run is not available on this system: it needs the process groups of Unix"))
	return exitUnavailable
}
