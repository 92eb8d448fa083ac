package proc

import "syscall"

// EndWithParent makes the kernel send the process this signal when its parent ends in any way. In fact the kernel
// sends it when the thread that started the process ends. In a Go program, a thread ends before the program only if a
// goroutine is locked to it and ends. So callers need not call runtime.LockOSThread.
func EndWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
