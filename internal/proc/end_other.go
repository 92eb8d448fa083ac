//go:build !linux

package proc

import "syscall"

// EndWithParent does nothing: systems other than Linux have no such signal. So a process can outlive a
// parent that was killed.
func EndWithParent(*syscall.SysProcAttr, syscall.Signal) {}
