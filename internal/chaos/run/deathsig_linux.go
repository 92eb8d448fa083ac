package run

import "syscall"

// endsWithUs makes the kernel kill a client when the harness is killed. It does so when the thread
// that started it ends, which in a Go program only one with a locked goroutine does.
func endsWithUs() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
