package cluster

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	clockName = "clock"

	// clockEnv is read by docker/preload/clock.c.
	clockEnv = "REDLOCK_CLOCK"
)

// setClock writes the offset to a file in a control folder. The servers that use this folder have mapped the file into
// memory. The file is never replaced, because a server keeps the file that it opened at its start.
func setClock(control string, offset time.Duration) error {
	file, err := os.OpenFile(filepath.Join(control, clockName), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	defer file.Close()
	if _, err := file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(offset)), 0); err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	return nil
}
