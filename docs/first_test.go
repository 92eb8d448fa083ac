package docs_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// The README's commands lead from a clone to a program's first lock, and to a guard in the program.
func TestFirstLock(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "first/first.sh").CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^locked, with token \d+$`).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}
