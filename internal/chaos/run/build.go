//go:build unix

package run

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// binaries are the programs of the client's module.
type binaries struct{ client, database string }

// build runs go build in the client's module, which has the programs.
func (c Config) build(ctx context.Context, dir string) (binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, fmt.Errorf("chaos: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), ".", "./database")
	cmd.Dir = filepath.Join(c.Root, "internal/chaos/client")
	if output, err := cmd.CombinedOutput(); err != nil {
		return binaries{}, fmt.Errorf("chaos: building the client: %w\n%s", err, output)
	}
	return binaries{filepath.Join(dir, "client"), filepath.Join(dir, "database")}, nil
}
