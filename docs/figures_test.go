package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/documents"
)

var (
	// measured is what stands where something was measured: a speed, a time of a processor, a
	// percentile, the day.
	measured = regexp.MustCompile(`\d ?(?:µs|cores|kB)\b|(?:pairs|holds|reads)/s\b|\d acquisitions a second|\bp50\b|\b20\d\d-\d\d-\d\d\b`)
	// figures is a row of a table with three numbers.
	figures = regexp.MustCompile(`(?m)^\|(?:.*\| *\d[^|]*){3,}\|`)
	// elsewhere is a link to a page on which each section has its command.
	elsewhere = regexp.MustCompile(`\]\([^)]*(?:PERFORMANCE|CHAOS|MODEL)\.md`)
)

// A section with figures names the command that makes them, so that a reader can measure again, or
// has a link to where they are.
func TestFiguresHaveACommand(t *testing.T) {
	found := 0
	for _, d := range all(t) {
		line := 1
		for _, section := range sections(d.Unfenced()) {
			at := line
			line += strings.Count(section, "\n")
			if !measured.MatchString(section) && !figures.MatchString(section) {
				continue
			}
			found++
			if !elsewhere.MatchString(section) && !namesACommand(documents.Document{Path: d.Path, Text: section}) {
				title, _, _ := strings.Cut(section, "\n")
				t.Errorf("%s:%d: %s: figures, and no command that makes them", d.Path, at, title)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d sections have figures", found)
	}
}

// sections are the pieces of a text that begin with a heading.
func sections(text string) []string {
	var all []string
	begin := 0
	for _, at := range heading.FindAllStringIndex(text, -1) {
		all = append(all, text[begin:at[0]])
		begin = at[0]
	}
	return append(all, text[begin:])
}

// namesACommand reports whether a section has a command that runs something, or flags of one.
func namesACommand(d documents.Document) bool {
	for _, c := range d.Commands() {
		switch kind, err := check(c); {
		case err != nil: // TestNamedCommandsExist tells
		case kind == "go test", kind == "go run", kind == "make", kind == "script", kind == "flags":
			return true
		}
	}
	return false
}
