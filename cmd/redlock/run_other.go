//go:build !unix

package main

import "errors"

// runCommand needs process groups and signals.
func runCommand(args []string) int {
	if _, err := parseRun(args); err != nil {
		return badInput(err, runUsage)
	}
	complain(errors.New("run is not available on this system: it needs the process groups of Unix"))
	return exitUnavailable
}
