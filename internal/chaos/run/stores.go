//go:build unix

package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/redlock-go/redlock/internal/chaos/cluster"
)

// stores are the stores that clients write to. No fault hits them.
type stores struct {
	redis    *cluster.Cluster
	database *database // nil: not needed, or not installed
}

func startStores(ctx context.Context, c Config, b binaries) (*stores, error) {
	redis, err := cluster.Start(ctx, cluster.Config{
		Engine: c.Engine, N: 1, Fsync: cluster.None, Log: io.Discard,
	})
	if err != nil {
		return nil, err
	}
	s := &stores{redis: redis}
	if c.Scenario != "" {
		return s, nil // a scenario is short, and needs no database
	}
	s.database, err = startDatabase(b.database)
	switch {
	case errors.Is(err, errNoDatabase) && !c.NeedDatabase:
		fmt.Fprintf(c.Log, "chaos: NOT TESTED with PostgreSQL: %v\n", err)
	case err != nil:
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stores) redisURL() string { return "redis://" + s.redis.Masters()[0].Addr() }

func (s *stores) databaseSource() string {
	if s.database == nil {
		return ""
	}
	return s.database.source
}

func (s *stores) close() error {
	err := s.redis.Close()
	if s.database != nil {
		err = errors.Join(err, s.database.close())
	}
	return err
}

// errNoDatabase is returned if PostgreSQL is not installed.
var errNoDatabase = errors.New("PostgreSQL is not installed")

// database is a PostgreSQL server. The process that runs it has the driver.
type database struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	source string
}

func startDatabase(binary string) (*database, error) {
	var output strings.Builder
	cmd := exec.Command(binary)
	cmd.Stderr = &output
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("chaos: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("chaos: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("chaos: %w", err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err == nil {
		return &database{cmd, stdin, strings.TrimSpace(line)}, nil
	}
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == notInstalled {
		return nil, fmt.Errorf("%w: %s", errNoDatabase, strings.TrimSpace(output.String()))
	}
	return nil, fmt.Errorf("chaos: the database: %w: %s", err, output.String())
}

// notInstalled is the exit status of the database command without PostgreSQL.
const notInstalled = 3

func (d *database) close() error {
	if err := errors.Join(d.stdin.Close(), d.cmd.Wait()); err != nil {
		return fmt.Errorf("chaos: the database: %w", err)
	}
	return nil
}
