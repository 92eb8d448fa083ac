package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// folder is where a run has its files. It holds a lock that ends with the process, so that others
// can tell whether the run is still on.
type folder struct {
	path string
	lock *os.File
}

const (
	folderPattern = "redlock-masters-*"
	lockName      = "lock"
)

func newFolder() (*folder, error) {
	path, err := os.MkdirTemp("", folderPattern)
	if err != nil {
		return nil, err
	}
	// It gets its name once it is locked: a lock file that can be locked means that the run is
	// over.
	fresh := filepath.Join(path, lockName+".new")
	lock, err := os.Create(fresh)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	f := &folder{path: path, lock: lock}
	if err := tryLock(lock); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(err, f.remove())
	}
	if err := os.Rename(fresh, filepath.Join(path, lockName)); err != nil {
		return nil, errors.Join(err, f.remove())
	}
	return f, nil
}

// sub makes a folder in it.
func (f *folder) sub(elem ...string) (string, error) {
	path := filepath.Join(append([]string{f.path}, elem...)...)
	return path, os.MkdirAll(path, 0o755)
}

func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// abandoned reports whether no run holds the folder any more.
func abandoned(path string) bool {
	lock, err := os.Open(filepath.Join(path, lockName))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer lock.Close()
	return tryLock(lock) == nil
}

// sweeping runs one sweep at a time on this machine, so that what a sweep has gone over is gone
// when it returns, and not half removed by another.
func sweeping(sweep func() error) error {
	dir, err := os.Open(os.TempDir())
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := awaitLock(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("lock of %s: %w", dir.Name(), err)
	}
	return sweep()
}

// sweepFolders removes what runs that were killed have left, with the disks that are mounted there.
func sweepFolders() error {
	locks, err := filepath.Glob(filepath.Join(os.TempDir(), folderPattern, lockName))
	if err != nil {
		return err
	}
	var errs []error
	for _, lock := range locks {
		path := filepath.Dir(lock)
		if !abandoned(path) {
			continue
		}
		disks, err := filepath.Glob(filepath.Join(path, "m*", diskName))
		errs = append(errs, err)
		for _, disk := range disks {
			_ = unmountDisk(disk) // most are plain folders
		}
		errs = append(errs, os.RemoveAll(path))
	}
	return errors.Join(errs...)
}
