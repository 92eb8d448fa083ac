package planted

import (
	"os/exec"
	"testing"
)

const root = "../../.."

// TestBuildWithAllBugs applies each bug to today's source.
func TestBuildWithAllBugs(t *testing.T) {
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
