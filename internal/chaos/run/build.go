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

// build builds them with the go command, since they are of another module.
func build(ctx context.Context, source string, withBugs bool, dir string) (binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, fmt.Errorf("chaos: %w", err)
	}
	tags := ""
	if withBugs {
		tags = "planted"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", dir+string(filepath.Separator), ".", "./database")
	cmd.Dir = source
	if output, err := cmd.CombinedOutput(); err != nil {
		return binaries{}, fmt.Errorf("chaos: building the client: %w\n%s", err, output)
	}
	return binaries{filepath.Join(dir, "client"), filepath.Join(dir, "database")}, nil
}
