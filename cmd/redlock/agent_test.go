package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/testskip"
)

// Each test of the client in Python, and of the examples, runs in a process of its own.
func TestAgentClients(t *testing.T) {
	t.Parallel()
	_, err := exec.LookPath("python3")
	testskip.IfLacking(t, err, exec.ErrNotFound)
	text, err := os.ReadFile("agent/clients/test_clients.py")
	harness.Must(t, err)
	tests := regexp.MustCompile(`(?m)^    def (test_\w+)`).FindAllStringSubmatch(string(text), -1)
	if len(tests) < 20 {
		t.Errorf("%d tests were found", len(tests))
	}
	for _, test := range tests {
		t.Run(test[1], func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*deadline)
			defer cancel()
			cmd := exec.CommandContext(ctx, "python3", "-B", "agent/clients/test_clients.py", "Clients."+test[1])
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if strings.Contains(string(out), "skipped=") {
				testskip.IfLacking(t, exec.ErrNotFound, exec.ErrNotFound)
				t.Fatalf("%s", out)
			}
		})
	}
}
