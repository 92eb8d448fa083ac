package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/documents"
)

// The commands of the README lead from a clone to the first lock of a program. Masters stand in for
// those that the first one starts. What go mod tidy needs may be downloaded.
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
	clone := filepath.Join(t.TempDir(), "redlock")
	if err := os.Mkdir(clone, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", strings.Join(script, "\n"))
	cmd.Dir = clone
	cmd.Env = append(os.Environ(), "REDLOCK_MASTERS="+strings.Join(masters(), ","))
	out, err := cmd.CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^locked, with token \d+$`).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}
