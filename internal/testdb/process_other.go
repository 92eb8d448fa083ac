//go:build !linux

package testdb

import (
	"os/exec"
	"syscall"
)

// confine makes command run in the folder dir. The version for Linux also changes the user, and ends the command with
// the test process.
func confine(command *exec.Cmd, dir string, _ syscall.Signal) error {
	command.Dir = dir
	return nil
}
