package docs_test

import (
	"slices"
	"strings"
	"testing"
)

// Each row of TRAPS.md names a test, or a case of the behaviour suite, and each of these exists.
func TestTrapsNameTheirTests(t *testing.T) {
	tests := functionsEverywhere(t)
	suite, err := inspect(".", []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(read(t, "TRAPS.md")) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 3 || strings.Trim(cells[0], "0123456789") != "" {
			continue
		}
		rows++
		named := 0
		for _, name := range testName.FindAllString(cells[2], -1) {
			named++
			if !tests[name] {
				t.Errorf("trap %s: no test is called %s", cells[0], name)
			}
		}
		for _, name := range camelCase.FindAllString(testPath.ReplaceAllString(cells[2], ""), -1) {
			named++
			if !slices.Contains(suite.literals, name) {
				t.Errorf("trap %s: no case is called %s", cells[0], name)
			}
		}
		if named == 0 {
			t.Errorf("trap %s names no test", cells[0])
		}
	}
	if rows < 80 {
		t.Errorf("%d rows were found", rows)
	}
}
