package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// disk is the folder of a master's data, which may be a small file system of its own.
type disk struct {
	path  string
	small bool
}

const (
	diskName   = "disk"
	fillerName = "filler"
)

// newDisk mounts a file system of size bytes on path. When it cannot, or size is 0, it is a plain
// folder.
func newDisk(path string, size int64) (d *disk, cannot error) {
	d = &disk{path: path}
	if size > 0 {
		cannot = mountDisk(path, size)
		d.small = cannot == nil
	}
	return d, cannot
}

func (d *disk) fill() error {
	if !d.small {
		return ErrNoSmallDisk
	}
	filler, err := os.OpenFile(filepath.Join(d.path, fillerName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	defer filler.Close()
	block := make([]byte, 64<<10)
	for {
		_, err := filler.Write(block)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			return nil // a write takes what is left before it fails
		case err != nil:
			return fmt.Errorf("cluster: %w", err)
		}
	}
}

func (d *disk) free() error {
	if err := os.Remove(filepath.Join(d.path, fillerName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

func (d *disk) close() error {
	if !d.small {
		return nil
	}
	return unmountDisk(d.path)
}
