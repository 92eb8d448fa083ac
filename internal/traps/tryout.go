package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/edits"
)

// red is what a test must be.
const red = "red"

// builder builds tests with traps.
type builder struct {
	root, scratch string
	all           *edits.Together
	together      map[int]bool      // traps, by number, that are built together; the others are built by themselves
	overlay       string            // of those that are built together
	built         map[string]string // what the compiler said, by binary
}

func newBuilder(root, scratch string, rows []row) (*builder, error) {
	b := &builder{root: root, scratch: scratch, all: edits.NewTogether(root, scratch), together: map[int]bool{}, built: map[string]string{}}
	number := 0
	for _, r := range rows {
		for _, t := range r.traps {
			number++
			var err error
			if b.together[number], err = b.all.Add(strconv.Itoa(number), t.edits); err != nil {
				return nil, fmt.Errorf("%s: %w", r.title, err)
			}
		}
	}
	var err error
	b.overlay, err = b.all.Write()
	return b, err
}

// run tells what becomes of a test with the trap of this number, and what it or the compiler said.
func (b *builder) run(number int, t trap, one test, limit time.Duration) (is, said string) {
	var binary string
	name := strconv.Itoa(number)
	if b.together[number] {
		binary, said = b.build(b.scratch, b.overlay, one)
	}
	if binary == "" { // it does not build with others
		scratch := filepath.Join(b.scratch, name)
		overlay, err := edits.Alone(b.root, scratch, t.edits)
		if err != nil {
			return err.Error(), ""
		}
		if binary, said = b.build(scratch, overlay, one); binary == "" {
			return "does not build", said
		}
		defer os.RemoveAll(scratch)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit+10*time.Second)
	defer cancel()
	args := []string{"-test.v", "-test.run", pattern(one.name), "-test.timeout", limit.String()}
	if !one.long {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = filepath.Join(b.root, one.folder)
	cmd.Env = append(os.Environ(), b.all.Env(name))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	return judge(string(out), err, ctx.Err() != nil), string(out)
}

// build builds the package of a test, unless that is done. It returns no binary if that fails.
func (b *builder) build(scratch, overlay string, one test) (binary, said string) {
	binary = filepath.Join(scratch, strings.ReplaceAll(one.folder, "/", "_")+".test")
	args := []string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay}
	if one.race {
		binary += ".race"
		args = append(args, "-race")
	}
	if said, done := b.built[binary]; done && said != "" {
		return "", said
	}
	if _, err := os.Stat(binary); err == nil {
		return binary, ""
	}
	cmd := exec.Command("go", append(args, "-o", binary, "./"+one.folder)...)
	cmd.Dir = b.root
	if out, err := cmd.CombinedOutput(); err != nil {
		b.built[binary] = fmt.Sprintf("%v\n%s", err, out)
		if scratch == b.scratch {
			log.Printf("%s does not build with all traps, so each is built by itself: %s", one.folder, b.built[binary])
		}
		return "", b.built[binary]
	}
	return binary, ""
}

// pattern is what -run takes for one test, or one case of it.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}

// reds are what a test says that fails: by itself, by a panic in another goroutine, or for the race
// detector.
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
