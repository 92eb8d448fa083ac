//go:build !linux

package testdb

import (
	"os/exec"
	"syscall"
)

// confine makes command run in the folder dir. Becoming another user, and ending with the test
// process, are for Linux alone.
func confine(command *exec.Cmd, dir string, _ syscall.Signal) error {
	command.Dir = dir
	return nil
}
