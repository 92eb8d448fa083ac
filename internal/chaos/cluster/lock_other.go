//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd

package cluster

import (
	"errors"
	"os"
)

// Without locks nothing counts as abandoned: what a run that was killed has left stays there.
func tryLock(*os.File) error   { return errors.ErrUnsupported }
func awaitLock(*os.File) error { return errors.ErrUnsupported }
