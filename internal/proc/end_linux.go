package proc

import "syscall"

// EndWithParent makes the kernel send the process this signal when its parent ends, however that
// ends. The kernel does so when the thread that started the process ends; threads of a Go program
// end only with a goroutine that is locked to one, so no thread is kept aside for this.
func EndWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
