//go:build !linux

package cluster

import (
	"errors"
	"os"
)

// No other system is asked for locks: what a run that was killed has left stays there.
func tryLock(*os.File) error { return nil }

func mountDisk(string, int64) error { return errors.ErrUnsupported }
func unmountDisk(string) error      { return errors.ErrUnsupported }
