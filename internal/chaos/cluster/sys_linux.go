package cluster

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func mountDisk(path string, size int64) error {
	return unix.Mount("redlock-masters", path, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", size))
}

func unmountDisk(path string) error { return unix.Unmount(path, unix.MNT_DETACH) }
