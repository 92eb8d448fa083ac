//go:build !linux

package redisproc

import "syscall"

// No other system has a death signal: there, a server can outlive a parent that was killed.
func sysProcAttr() *syscall.SysProcAttr { return nil }
