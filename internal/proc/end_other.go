//go:build !linux

package proc

import "syscall"

// EndWithParent does nothing: other systems have no such signal. So a process can outlive a parent that was
// killed.
func EndWithParent(*syscall.SysProcAttr, syscall.Signal) {}
