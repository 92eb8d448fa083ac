package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/harness"
)

// complete returns what the script of a shell makes of a line whose words are given; the last one
// is being completed.
func complete(t *testing.T, script string, words ...string) []string {
	t.Helper()
	test := `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _redlock; printf '%s\n' "${COMPREPLY[@]}"`
	cmd := exec.CommandContext(t.Context(), "bash", append([]string{"--norc", "-c", test, "bash", script, "redlock"}, words...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v", words, err)
	}
	return slices.DeleteFunc(strings.Split(string(out), "\n"), func(s string) bool { return s == "" })
}

// scriptFor is the file of what redlock completion prints.
func scriptFor(t *testing.T, shell string) string {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil && (shell != "bash" || os.Getenv("CI") == "") {
		t.Skipf("NOT TESTED: %v", err)
	}
	r := redlockEnds(t, "completion", shell)
	r.wants(t, exitOK)
	return writeFile(t, r.stdout, 0o600)
}

func TestBashCompletion(t *testing.T) {
	t.Parallel()
	script := scriptFor(t, "bash")
	out, err := exec.CommandContext(t.Context(), "bash", "--norc", "-c", "source "+script+"; complete -p redlock").Output()
	harness.Must(t, err)
	if got := strings.TrimSpace(string(out)); got != "complete -F _redlock redlock" {
		t.Errorf("complete -p: %q", got)
	}
	file := writeFile(t, "", 0o600)
	dir, base := filepath.Split(file)
	two := filepath.Join(dir, "two words")
	harness.Must(t, os.WriteFile(two, nil, 0o600))
	for _, c := range []struct {
		line string // words, with spaces between them
		want []string
	}{
		{"comp", []string{"completion"}},
		{"me", []string{"members"}},
		{"members re", []string{"replace", "resume", "remove"}},
		{"members --masters redis://a add --tls-k", []string{"--tls-key"}},
		{"members --masters redis://a s", []string{"suspend"}},
		{"run --conf", []string{"--conflict-exit-code"}},
		{"run --conflict-exit-code ", nil}, // a number
		{"run --name a --verb", []string{"--verbose"}},
		{"run --name run --verb", []string{"--verbose"}},
		{"run --name = run --verb", []string{"--verbose"}}, // as bash splits it
		{"run --name=run --verb", []string{"--verbose"}},   // as zsh does not
		{"init --yes --forc", []string{"--force"}},
		{"init --verb", nil},
		{"doctor --js", []string{"--json"}},
		{"completion ", []string{"bash", "zsh", "fish", "--help", "-h"}},
		{"help dem", []string{"demo"}},
		{"run --tls-ca " + dir + base[:2], []string{file}},
		{"run --tls-ca = " + dir + base[:2], []string{file}},
		{"run --tls-ca=" + dir + base[:2], []string{"--tls-ca=" + file}},
		{"run --name a -- tru", []string{"true", "truncate"}},
		{"run --name a tru", []string{"true", "truncate"}},
		{"run --name a -- cat " + dir + base[:2], []string{file}},
		{"run --name a cat --verb", nil},
		{"run --tls-ca " + dir + "tw", []string{two}},
	} {
		got := complete(t, script, strings.Split(c.line, " ")...)
		slices.Sort(got)
		got = slices.Compact(got) // a command is found once in each folder of PATH
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", c.line, got, want)
		}
	}
	all := complete(t, script, "")
	for _, p := range places(newParser().Model.Node, "") {
		if p.path != "" && !strings.Contains(p.path, " ") && !slices.Contains(all, p.path) {
			t.Errorf("%q is not completed: %q", p.path, all)
		}
	}
}

func TestZshCompletion(t *testing.T) {
	t.Parallel()
	script := scriptFor(t, "zsh")
	test := `autoload -U compinit; compinit -u -D; source $1; print $_comps[redlock]`
	out, err := exec.CommandContext(t.Context(), "zsh", "-f", "-c", test, "zsh", script).CombinedOutput()
	harness.Must(t, err)
	if !strings.Contains(string(out), "_redlock") {
		t.Errorf("got %s", out)
	}
}

func TestFishCompletion(t *testing.T) {
	t.Parallel()
	script := scriptFor(t, "fish")
	for line, want := range map[string]string{
		"redlock comp":                              "completion",
		"redlock members re":                        "remove replace resume",
		"redlock run --conf":                        "--conflict-exit-code",
		"redlock members add --pref":                "--prefix",
		"redlock completion ":                       "bash fish zsh",
		"redlock run --name a --wait 1s -- truncat": "truncate",
	} {
		cmd := exec.CommandContext(t.Context(), "fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.Output()
		harness.Must(t, err)
		var got []string
		for l := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSpace(l), "\t")
			got = append(got, word)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
