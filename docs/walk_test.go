package docs_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// commandsOf returns the commands that a section of a page has in indented lines, in their order.
func commandsOf(t *testing.T, page, section string) (commands []string) {
	t.Helper()
	_, text, found := strings.Cut(read(t, page), "\n## "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %q", page, section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for line := range strings.Lines(text) {
		if command, is := strings.CutPrefix(line, "    "); is {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	return commands
}

// The first lock of README, command by command, from masters to try it to a guard before the store.
func TestWalkOfREADME(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: it builds the program of README")
	}
	t.Parallel()
	root, err := filepath.Abs("..")
	must(t, err)
	dir := t.TempDir()
	here := strings.NewReplacer("../first", filepath.Join(dir, "first"), "../redlock", root)
	var masters string
	directory := root
	shell := func(command string) string {
		cmd := exec.CommandContext(t.Context(), "bash", "-ec", here.Replace(command))
		cmd.Dir = directory
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "REDLOCK_MASTERS="+masters)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		return string(out)
	}
	write := func(file, text string) {
		must(t, os.WriteFile(filepath.Join(directory, file), []byte(text), 0o600))
	}
	program := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(read(t, "../README.md"))
	if program == nil {
		t.Fatal("README has no program")
	}
	walked := 0
	for _, command := range commandsOf(t, "../README.md", "The first lock") {
		switch {
		case command == "go run ./cmd/redlock-demo masters":
			masters = startMasters(t, root)
		case strings.HasPrefix(command, "export REDLOCK_MASTERS="): // what the first terminal shows
		case strings.HasPrefix(command, "mkdir ../first"):
			shell(command)
			directory = filepath.Join(dir, "first")
			write("main.go", program[1])
		case command == "go run .":
			if out := shell(command); !strings.HasPrefix(out, "locked, with token") {
				t.Errorf("it printed %q", out)
			}
		default:
			shell(command)
		}
		walked++
	}
	if walked < 8 {
		t.Errorf("README has %d commands to a first lock", walked)
	}
	write("guard.go", "package main\n\nimport _ \"github.com/redlock-go/redlock/guard/sqlguard\"\n")
	shell("go mod tidy && go build .")
}

// startMasters starts masters as README does, and returns their URLs. They end with the test.
func startMasters(t *testing.T, root string) string {
	t.Helper()
	demo := filepath.Join(t.TempDir(), "redlock-demo")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", demo, "./cmd/redlock-demo")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, end := context.WithTimeout(context.Background(), 10*time.Minute)
	cmd := exec.CommandContext(ctx, demo, "masters")
	out, err := cmd.StdoutPipe()
	must(t, err)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	must(t, cmd.Start())
	t.Cleanup(func() {
		end()
		_ = cmd.Wait() // it was ended
	})
	shown := regexp.MustCompile(`REDLOCK_MASTERS=(\S+)`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if urls := shown.FindStringSubmatch(lines.Text()); urls != nil {
			return urls[1]
		}
	}
	t.Fatalf("it printed no REDLOCK_MASTERS: %s", &failed)
	return ""
}
