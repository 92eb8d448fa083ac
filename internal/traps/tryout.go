package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/edits"
)

// verdict is what became of a test with the trap put back.
type verdict struct {
	test test
	is   string
	said string // by the test or the compiler, if it did not find the trap
}

const red = "red"

func (v verdict) found() bool { return v.is == red }

func (v verdict) String() string {
	if v.found() {
		return fmt.Sprintf("%s: %v", v.is, v.test)
	}
	return fmt.Sprintf("NOT FOUND, %s: %v\n%s", v.is, v.test, v.said)
}

// tryOut puts the trap back, and runs its tests.
func (t trap) tryOut(root string, limit time.Duration) (verdicts []verdict) {
	scratch, err := os.MkdirTemp("", "trap")
	if err != nil {
		return []verdict{{is: err.Error()}}
	}
	defer os.RemoveAll(scratch)
	overlay, err := t.overlay(root, scratch)
	if err != nil {
		return []verdict{{is: err.Error()}}
	}
	for _, one := range t.tests {
		is, said := one.run(root, scratch, overlay, limit)
		verdicts = append(verdicts, verdict{one, is, said})
	}
	return verdicts
}

func (t trap) overlay(root, scratch string) (string, error) {
	changed, err := edits.Apply(root, t.edits)
	if err != nil {
		return "", err
	}
	o := edits.NewOverlay(root, scratch)
	for file, text := range changed {
		if _, err := o.Put(file, []byte(text)); err != nil {
			return "", err
		}
	}
	return o.Write()
}

// run builds the package of the test, unless a test before has, and runs the test.
func (t test) run(root, scratch, overlay string, limit time.Duration) (is, said string) {
	binary := filepath.Join(scratch, strings.ReplaceAll(t.folder, "/", "_")+".test")
	args := []string{"test", "-c", "-vet=off", "-overlay", overlay}
	if t.race {
		binary += ".race"
		args = append(args, "-race")
	}
	if _, err := os.Stat(binary); err != nil {
		build := exec.Command("go", append(args, "-o", binary, "./"+t.folder)...)
		build.Dir = root
		if out, err := build.CombinedOutput(); err != nil {
			return "does not build", string(out)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	args = []string{"-test.v", "-test.run", pattern(t.name), "-test.timeout", limit.String()}
	if !t.long {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = filepath.Join(root, t.folder)
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return judge(string(out), err, ctx.Err() != nil), string(out)
}

// pattern is what -run takes for one test, or one case of it.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// reds are what a test says that fails: by itself, by a panic in another goroutine, or for the race detector.
var reds = regexp.MustCompile(`(?m)^ *--- FAIL: |^panic: |^fatal error: |^WARNING: DATA RACE`)

// judge tells what became of a test by what it said and how its process ended.
func judge(said string, err error, killed bool) string {
	var exit *exec.ExitError
	switch {
	case killed || strings.Contains(said, "panic: test timed out after"):
		return "timed out"
	case err == nil && strings.Contains(said, "warning: no tests to run"):
		return "there is no such test"
	case err == nil && strings.Contains(said, "--- SKIP: "):
		return "skipped"
	case err == nil:
		return "green"
	case errors.As(err, &exit) && reds.MatchString(said):
		return red
	}
	return err.Error()
}
