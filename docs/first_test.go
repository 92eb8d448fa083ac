package docs_test

import (
	"os/exec"
	"regexp"
	"testing"
)

// The commands of the README lead from a clone to the first lock of a program, and to a guard in it.
func TestFirstLock(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "first/first.sh").CombinedOutput()
	if err != nil || !regexp.MustCompile(`(?m)^locked, with token \d+$`).Match(out) {
		t.Errorf("%v\n%s", err, out)
	}
}
