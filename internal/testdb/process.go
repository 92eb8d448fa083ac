package testdb

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// find returns the path of binary: on the PATH, or otherwise in the last folder that matches the pattern folders.
func find(binary, folders string) (string, error) {
	if path, err := exec.LookPath(binary); err == nil {
		return path, nil
	}
	paths, err := filepath.Glob(filepath.Join(folders, binary))
	if err != nil || len(paths) == 0 {
		return "", fmt.Errorf("%s is %w: it is neither on the PATH nor in %s", binary, ErrNotInstalled, folders)
	}
	return paths[len(paths)-1], nil
}

func serverDir(name string) (string, error) {
	// The name is short, because the path of a socket may not exceed about a hundred bytes.
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return "", err
	}
	stopsMu.Lock()
	defer stopsMu.Unlock()
	stops = append(stops, func() { _ = os.RemoveAll(dir) })
	return dir, nil
}

func prepare(dir, binary string, args ...string) error {
	command := exec.Command(binary, args...)
	if err := confine(command, dir, syscall.SIGKILL); err != nil {
		return err
	}
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", binary, err, output)
	}
	return nil
}

func start(dir string, end syscall.Signal, binary string, args ...string) error {
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return err
	}
	command := exec.Command(binary, args...)
	command.Stdout, command.Stderr = output, output
	if err := confine(command, dir, end); err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	// The server must end before the removal of its folder, so the function that ends it goes to the front of stops.
	stopsMu.Lock()
	defer stopsMu.Unlock()
	stops = append([]func(){func() {
		_ = command.Process.Signal(end)
		_ = command.Wait()
		_ = output.Close()
	}}, stops...)
	return nil
}

// await polls, because a starting server has no other way to report that it is up.
func await(driver, source, output string) error {
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			text, _ := os.ReadFile(output)
			return fmt.Errorf("is not ready: %w, it says:\n%s", err, strings.TrimSpace(string(text)))
		}
	}
}

func execute(driver, source, statement string) error {
	db, err := sql.Open(driver, source)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	_, err = db.Exec(statement)
	return err
}
