package proc

import "syscall"

// EndWithParent makes the kernel send the process this signal when its parent ends in any way. The kernel does so when
// the thread that started the process ends. A thread of a Go program ends early only with a goroutine that is locked to
// it, so no thread is reserved for this.
func EndWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
