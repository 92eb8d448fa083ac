package edits

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func module(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	for file, text := range map[string]string{
		"go.mod":       "module m\n\ngo 1.26\n",
		"main.go":      "package main\n\nimport _ \"embed\"\n\n//go:embed said.txt\nvar said string\n\nfunc main() { print(said, one()) }\n",
		"said.txt":     "a b a",
		"one.go":       "package main\n\nfunc one() int { return 1 }\n",
		"one_other.go": "package main\n",
	} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// What is built is the changed text, of embedded files too, and the files stay as they are.
func TestWhatIsBuiltIsChanged(t *testing.T) {
	t.Parallel()
	root, scratch := module(t), t.TempDir()
	overlay, err := Alone(root, scratch, []Edit{{"said.txt", "b", "c"}, {"said.txt", "c", "d e"}, {"one.go", "return 1", "return 2"}})
	if err != nil {
		t.Fatal(err)
	}
	for overlay, want := range map[string]string{"": "a b a1", overlay: "a d e a2"} {
		run := exec.Command("go", "run", "-overlay="+overlay, ".")
		run.Dir = root
		if said, err := run.CombinedOutput(); err != nil || string(said) != want {
			t.Errorf("with %q: %s, %v; want %s", overlay, said, err, want)
		}
	}
}

func TestWhatDoesNotApply(t *testing.T) {
	t.Parallel()
	root := module(t)
	for _, c := range []struct {
		edit Edit
		want string
	}{
		{Edit{"said.txt", "x", ""}, "said.txt: this text is there 0 times, and not once:\nx"},
		{Edit{"said.txt", "a", ""}, "said.txt: this text is there 2 times, and not once:\na"},
		{Edit{"none.txt", "a", ""}, "none.txt"},
	} {
		if _, err := Apply(root, []Edit{c.edit}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.edit, err, c.want)
		}
	}
}
