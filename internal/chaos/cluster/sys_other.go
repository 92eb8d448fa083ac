//go:build !linux

package cluster

import "errors"

func mountDisk(string, int64) error { return errors.ErrUnsupported }
func unmountDisk(string) error      { return errors.ErrUnsupported }
