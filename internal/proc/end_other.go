//go:build !linux

package proc

import "syscall"

// EndWithParent does nothing: no other system has a signal for it, so a process can outlive a
// parent that was killed.
func EndWithParent(*syscall.SysProcAttr, syscall.Signal) {}
