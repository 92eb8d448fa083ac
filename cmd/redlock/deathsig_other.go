//go:build unix && !linux

package main

import "syscall"

// setDeathSignal does nothing: this system has no signal for it.
func setDeathSignal(*syscall.SysProcAttr) {}
