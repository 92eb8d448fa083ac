package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// aofName is the name of the folder with the append-only files. There is no other data: snapshots are off.
const aofName = "appendonlydir"

func wipe(data string) error {
	if err := os.RemoveAll(filepath.Join(data, aofName)); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}

// copyData replaces the data of a folder by a copy of another folder's data. The files keep their owner, because a
// server in a container runs as another user.
func copyData(from, to string) error {
	if err := wipe(to); err != nil {
		return err
	}
	source := filepath.Join(from, aofName)
	if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if output, err := exec.Command("cp", "-a", source, to).CombinedOutput(); err != nil {
		return fmt.Errorf("cluster: %w: %s", err, output)
	}
	return nil
}

// move moves data between two folders on the same disk. It replaces the data in the second folder.
func move(from, to string) error {
	if err := wipe(to); err != nil {
		return err
	}
	err := os.Rename(filepath.Join(from, aofName), filepath.Join(to, aofName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}
