package main

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
	"github.com/redlock-go/redlock/internal/testskip"
)

// The tests of the client in Python run on the python3 that is there, and on Python 3.9, the oldest
// that it is for. Each client passes the conformance test.
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
	for _, python := range []string{"python3", "python3.9"} {
		if err := exec.Command(python, "--version").Run(); err != nil {
			t.Log("NOT TESTED: there is no ", python)
			continue
		}
		for _, test := range tests { // each in a process of its own
			t.Run(python+" "+test[1], func(t *testing.T) { t.Parallel(); passes(t, python, "test_clients.py", "Clients."+test[1]) })
		}
		t.Run(python+" conformance", func(t *testing.T) { t.Parallel(); passes(t, python, "conformance.py", python, "workers/worker.py") })
	}
	t.Run("node", func(t *testing.T) { t.Parallel(); passes(t, "python3", "conformance.py", "node", "workers/worker.js") })
	t.Run("shell", func(t *testing.T) { t.Parallel(); passes(t, "python3", "conformance.py", "workers/worker.sh") })
}

func passes(t *testing.T, python string, words ...string) {
	for _, program := range []string{"node", "curl", "jq"} {
		_, err := exec.LookPath(program)
		testskip.IfLacking(t, err, exec.ErrNotFound)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, append([]string{"-B"}, words...)...)
	cmd.Dir = "agent/clients"
	cmd.Env = append(os.Environ(), "PYTHONPATH=python", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
