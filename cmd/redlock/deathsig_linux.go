package main

import "syscall"

// setDeathSignal makes the kernel kill the child when we are killed. SIGKILL, as nobody is left to
// see that it heeds anything milder, or to renew its lock.
func setDeathSignal(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
