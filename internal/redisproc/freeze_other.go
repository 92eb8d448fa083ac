//go:build !unix

package redisproc

import (
	"errors"
	"os"
)

// Freeze returns an error: this system cannot stop a process.
func Freeze(*os.Process) error { return errors.ErrUnsupported }

// Thaw returns an error, as Freeze does.
func Thaw(*os.Process) error { return errors.ErrUnsupported }
