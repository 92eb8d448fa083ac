package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
)

var update = flag.Bool("update", false, "write docs/CLI.md")

// docs/CLI.md is what redlock help prints. With -update the test writes it.
func TestReference(t *testing.T) {
	t.Parallel()
	const file = "../../docs/CLI.md"
	var b strings.Builder
	b.WriteString("# The commands\n\nThis page is what `redlock help` prints (`go test ./cmd/redlock -run TestReference -update` writes it).\n")
	for _, p := range places(newParser().Model.Node, "") {
		if p.path == "help" || p.path == "version" {
			continue
		}
		cmd := command(t, append(strings.Fields(p.path), "--help")...)
		cmd.Env = append(cmd.Env, "COLUMNS=80")
		r := runToEnd(t, cmd)
		r.wants(t, exitOK)
		b.WriteString("\n## " + strings.TrimSpace("redlock "+p.path) + "\n\n```\n")
		for line := range strings.Lines(r.stdout) {
			b.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		b.WriteString("```\n")
	}
	if *update {
		harness.Must(t, os.WriteFile(file, []byte(b.String()), 0o644))
	}
	text, err := os.ReadFile(file)
	harness.Must(t, err)
	if string(text) != b.String() {
		t.Errorf("%s is not what redlock help prints: run this test with -update", file)
	}
}
