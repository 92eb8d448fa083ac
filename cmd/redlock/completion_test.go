package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestCandidates(t *testing.T) {
	t.Parallel()
	for line, want := range map[string][]string{
		"":                            {"run", "agent", "members", "completion"},
		"members":                     {"add", "replace", "--masters"},
		"members --masters m add":     {"--json", "--tls-key"},
		"run --name a":                {"--verbose", "-E"},
		"completion":                  {"bash", "zsh", "fish"},
		"run --name":                  nil, // a value must follow
		"run --name a -- cat":         nil, // COMMAND's arguments
		"run --name a cat":            nil,
		"init --masters=redis://host": {"--yes"},
	} {
		got := candidates(newParser().Model.Node, strings.Fields(line))
		for _, word := range want {
			if !slices.Contains(got, word) {
				t.Errorf("after %q there is no %s in %q", line, word, got)
			}
		}
		if want == nil && got != nil {
			t.Errorf("after %q there is %q", line, got)
		}
	}
}

// The script of each shell completes a command and a flag. zsh uses the script of bash.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for shell, script := range map[string]string{
		"bash": `source "$0"; for line in "redlock compl" "redlock run --verb"; do COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _redlock; echo "${COMPREPLY[@]}"; done`,
		"zsh":  `autoload -U compinit; compinit -u -D; source $0; [[ $_comps[redlock] == *_redlock ]] && print -l completion -- --verbose`,
		"fish": `source $argv[1]; complete -C "redlock compl"; complete -C "redlock run --verb"`,
	} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("NOT TESTED: %v", err)
			}
			r := redlockEnds(t, "completion", shell)
			r.wants(t, exitOK)
			cmd := exec.CommandContext(t.Context(), shell, "-c", script, writeFile(t, r.stdout, 0o600))
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if lines := strings.Split(string(out), "\n"); err != nil || !slices.Contains(lines, "completion") || !slices.Contains(lines, "--verbose") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
