package planted

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/edits"
)

const root = "../../.."

// Each bug applies to the source of today.
func TestEachBugFits(t *testing.T) {
	t.Parallel()
	if _, err := Together(root, t.TempDir()); err != nil {
		t.Error(err)
	}
}

// The library builds with all of them.
func TestTheLibraryBuildsWithAllBugs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("NOT RUN with -short: it builds the library with the planted bugs")
	}
	all, err := Together(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := all.Write()
	if err != nil {
		t.Fatal(err)
	}
	if said, err := exec.Command("go", "build", "-overlay="+overlay, root).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	bugs, err := parse("# head\n\n== a: words\nedit x.go\n-\told\n+\tnew\n\n== b: words\nedit x.lua\n-gone\nedit y.lua\n+added\n same\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(bugs) != 2 || bugs[1].Name != "b" || len(bugs[1].Edits) != 2 || bugs[1].Edits[1] != (edits.Edit{File: "y.lua", Old: "same\n", New: "added\nsame\n"}) {
		t.Errorf("got %+v", bugs)
	}
	for text, why := range map[string]string{
		"edit x.go":       "planted.txt:1: this is of no bug",
		"== a":            "planted.txt:1: what is this bug?",
		"== a: words\n+x": "planted.txt:2: this is in no edit",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}
