package planted

import (
	"os/exec"
	"strings"
	"testing"
)

const root = "../../.."

// TestTheLibraryBuildsWithAllBugs applies each bug to today's source.
func TestTheLibraryBuildsWithAllBugs(t *testing.T) {
	t.Parallel()
	overlay, err := Build(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		return // the edits fit; a build takes long
	}
	if output, err := exec.Command("go", "build", "-overlay="+overlay, root).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"edit x.go":                  "planted.txt:1: the line belongs to no bug",
		"== a":                       "planted.txt:1: the bug has no description",
		"== a: words\n+x":            "planted.txt:2: the line belongs to no edit",
		"== a: words\nedit x.go\n*x": "planted.txt:3: a line of an edit begins with",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// An edit whose old text does not occur once is refused.
func TestApplyRefuses(t *testing.T) {
	t.Parallel()
	for _, old := range []string{"x", "a"} {
		if _, err := (edit{"said.txt", old, ""}).apply("a b a"); err == nil || !strings.Contains(err.Error(), "want once") {
			t.Errorf("%q: %v", old, err)
		}
	}
}
