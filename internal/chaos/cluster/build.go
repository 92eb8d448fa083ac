package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/redlock-go/redlock/docker"
)

// build runs docker/build.sh.
func build(ctx context.Context, args ...string) error {
	dir, err := os.MkdirTemp("", "redlock-docker-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.CopyFS(dir, docker.Files); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "sh", append([]string{filepath.Join(dir, "build.sh")}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("docker/build.sh: %w: %s", err, out)
	}
	return nil
}
