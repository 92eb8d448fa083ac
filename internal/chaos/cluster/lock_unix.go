//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package cluster

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock fails when another open file of the same name holds the lock.
func tryLock(f *os.File) error {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
}

// awaitLock waits until no other open file of the same name holds the lock.
func awaitLock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
