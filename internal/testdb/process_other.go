//go:build !linux

package testdb

import (
	"os/exec"
	"syscall"
)

// confine makes command run in the folder dir. Another user, and the end with the test
// process, are only for Linux.
func confine(command *exec.Cmd, dir string, _ syscall.Signal) error {
	command.Dir = dir
	return nil
}
