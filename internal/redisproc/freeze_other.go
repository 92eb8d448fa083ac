//go:build !unix

package redisproc

import (
	"errors"
	"os"
)

// Freeze stops a process, where a system can do that.
func Freeze(*os.Process) error { return errors.ErrUnsupported }

// Thaw lets a process go on after Freeze.
func Thaw(*os.Process) error { return errors.ErrUnsupported }
