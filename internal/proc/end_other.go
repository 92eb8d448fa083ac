//go:build !linux

package proc

import "syscall"

// EndWithParent does nothing: other systems have no signal for it, so a process can outlive a
// parent that was killed.
func EndWithParent(*syscall.SysProcAttr, syscall.Signal) {}
