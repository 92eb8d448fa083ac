//go:build unix && !linux

package run

import "syscall"

// endsWithUs does nothing: only Linux has a death signal.
func endsWithUs() *syscall.SysProcAttr { return nil }
