package cluster

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock fails when another open file of the same name holds the lock.
func tryLock(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

func mountDisk(path string, size int64) error {
	return unix.Mount("redlock-masters", path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", size))
}

func unmountDisk(path string) error { return unix.Unmount(path, unix.MNT_DETACH) }
