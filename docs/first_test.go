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

	"github.com/redlock-go/redlock/internal/documents"
)

// The commands of the README lead from a clone to the first lock of a program, and to a guard in it.
// What go mod tidy needs may be downloaded.
func TestTheFirstLock(t *testing.T) {
	_, section, _ := strings.Cut(read(t, "../README.md"), "\n## The first lock\n")
	section, _, _ = strings.Cut(section, "\n## ")
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var script []string
	var done = map[string]bool{}
	for _, line := range (documents.Document{Text: section}).Lines() {
		command := line.Text
		switch {
		case strings.HasPrefix(command, "go run ./cmd/redlock-demo masters"):
			done["masters"] = true
			continue
		case strings.HasPrefix(command, "export REDLOCK_MASTERS="):
			done["export"] = true
			continue
		case command == "go mod tidy":
			command = "cp " + root + "/docs/first/main.go .\n" + command
			done["tidy"] = true
		}
		script = append(script, strings.ReplaceAll(command, "=../redlock", "="+root))
	}
	if len(done) != 3 {
		t.Fatalf("of the README's commands these were found: %v", done)
	}
	script = append(script, `echo 'package main; import _ "github.com/redlock-go/redlock/guard/sqlguard"' >guard.go`, "go mod tidy", "go build .")
	clone := filepath.Join(t.TempDir(), "redlock")
	if err := os.Mkdir(clone, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.Join(script, "\n"))
	cmd.Dir = clone
	cmd.Env = append(os.Environ(), "REDLOCK_MASTERS="+startMasters(t, root))
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^locked, with token \d+$`).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
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
