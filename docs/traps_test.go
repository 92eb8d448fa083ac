package docs_test

import (
	"regexp"
	"testing"
)

func TestEachTrapNamesATest(t *testing.T) {
	t.Parallel()
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|.* \| (.*) \|$`).FindAllStringSubmatch(read(t, "TRAPS.md"), -1)
	for _, row := range rows {
		if !regexp.MustCompile(`\b[A-Z]\w*[a-z][A-Z]\w+`).MatchString(row[2]) {
			t.Errorf("trap %s is closed by %q, which is no test", row[1], row[2])
		}
	}
	if len(rows) < 80 {
		t.Errorf("%d rows were found", len(rows))
	}
}
