//go:build unix

package redisproc

import (
	"os"
	"syscall"
)

// Freeze stops a process with SIGSTOP.
func Freeze(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

// Thaw continues a process after Freeze.
func Thaw(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
