package cluster

import (
	"errors"
	"fmt"
)

// Limits of an engine or a machine. All errors wrap errors.ErrUnsupported.
var (
	// ErrNoDocker: the Docker Engine does not answer, or the image is missing and cannot be built.
	ErrNoDocker = fmt.Errorf("cluster: no Docker Engine with an image of a master (%w)", errors.ErrUnsupported)

	// ErrNoClock: the image has no clock preload, or there is no compiler to build it for processes.
	ErrNoClock = fmt.Errorf("cluster: the server's clock cannot be set (%w)", errors.ErrUnsupported)
)

// Errors of a master in the wrong state.
var (
	ErrRunning    = errors.New("cluster: the master is running")
	ErrNotRunning = errors.New("cluster: the master is not running")
	ErrNoReplica  = errors.New("cluster: the master has no replica")
	ErrNoBackup   = errors.New("cluster: the master has no backup")
)
