package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redlock-go/redlock/internal/edits"
)

// Each row has its edits or a reason, each edit applies to the source of today, and each test is
// there and stands in the row.
func TestEachRowCanBePutBack(t *testing.T) {
	t.Parallel()
	rows, err := read("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 80 {
		t.Errorf("there are %d rows", len(rows))
	}
	for _, r := range rows {
		for _, trap := range r.traps {
			if len(trap.edits) == 0 {
				t.Errorf("%s: %v has no edit", r.title, trap.tests)
			}
			if _, err := edits.Apply("../..", trap.edits); err != nil {
				t.Errorf("%s: %v", r.title, err)
			}
			for _, e := range trap.edits {
				if strings.HasSuffix(e.File, "_test.go") {
					t.Errorf("%s: %s is a test", r.title, e.File)
				}
			}
			for _, one := range trap.tests {
				if err := exists(t, one); err != nil {
					t.Errorf("%s: %v", r.title, err)
				}
				if !names(r.by, one.name) {
					t.Errorf("%s: docs/TRAPS.md does not name %v", r.title, one)
				}
			}
		}
	}
}

var function = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// exists tells whether the package has the test, and the names of its cases somewhere.
func exists(t *testing.T, one test) error {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("../..", one.folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(source)
	}
	parts := strings.Split(one.name, "/")
	for _, found := range function.FindAllStringSubmatch(text, -1) {
		if found[1] != parts[0] {
			continue
		}
		for _, part := range parts[1:] {
			if !strings.Contains(text, part) && !strings.Contains(text, strings.ReplaceAll(part, "_", " ")) {
				return fmt.Errorf("%s has no case %s", one.folder, part)
			}
		}
		return nil
	}
	return fmt.Errorf("%s has no test %s", one.folder, parts[0])
}

var (
	runFlag = regexp.MustCompile(`-run '?([^' \x60]+)`)
	word    = regexp.MustCompile(`[\w/=]+`)
)

// names tells whether the last column of a row names a test: its path, with a piece of each case,
// or its last part alone, or a -run that matches.
func names(by, name string) bool {
	parts := strings.Split(name, "/")
	for _, w := range word.FindAllString(by, -1) {
		path := strings.Split(w, "/")
		if w == parts[len(parts)-1] || path[0] == parts[0] && matches(path, parts, strings.Contains) {
			return true
		}
	}
	for _, found := range runFlag.FindAllStringSubmatch(by, -1) {
		is := func(part, pattern string) bool { return regexp.MustCompile(pattern).MatchString(part) }
		if matches(strings.Split(found[1], "/"), parts, is) {
			return true
		}
	}
	return false
}

// matches tells whether each pattern is of the part of a test's path at its place.
func matches(patterns, parts []string, is func(part, pattern string) bool) bool {
	for i, p := range patterns {
		if i == len(parts) || !is(parts[i], p) {
			return false
		}
	}
	return true
}

func TestTable(t *testing.T) {
	t.Parallel()
	rows := table("text\n\n| | trap | closed by |\n|---|---|---|\n| 1 | a, b | TestA |\n\n- c: `go test -run 'A|B' .`; `go vet`\n- d: e: `go test .`\n")
	want := []row{{title: "1 a, b", by: "TestA"}, {title: "c", by: "`go test -run 'A|B' .`; `go vet`"}, {title: "d: e", by: "`go test .`"}}
	if fmt.Sprint(rows) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", rows, want)
	}
	for name, is := range map[string]bool{"TestA": true, "TestB": true, "TestC": false} {
		if got := names(rows[1].by, name); got != is {
			t.Errorf("it names %s: %v", name, got)
		}
	}
	if names(rows[0].by, "TestAB") || !names("MaxHold, TestX", "TestBehaviourEmbedded/MaxHold") || !names("`-run 'B.*/MaxHold' .`", "TestB1/MaxHold") {
		t.Error("names in the first table")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	entries, err := parse("# head\n\n== 1 a\nred -race . TestA\nred -long b TestB/c\nedit x.go\n-\told\n+\tnew\n \tsame\n\nred . TestC\nedit y.lua\n+added\n-gone\n\n== 2 b\nnone: words\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []row{
		{title: "1 a", traps: []trap{
			{[]edits.Edit{{File: "x.go", Old: "\told\n\tsame\n", New: "\tnew\n\tsame\n"}}, []test{{race: true, folder: ".", name: "TestA"}, {long: true, folder: "b", name: "TestB/c"}}},
			{[]edits.Edit{{File: "y.lua", Old: "gone\n", New: "added\n"}}, []test{{folder: ".", name: "TestC"}}},
		}},
		{title: "2 b", reason: "words"},
	}
	if fmt.Sprintf("%+v", entries) != fmt.Sprintf("%+v", want) {
		t.Errorf("got %+v,\nwant %+v", entries, want)
	}
	for text, why := range map[string]string{
		"red . TestA":                     "traps.txt:1: this is under no row",
		"== a\nedit x.go":                 "traps.txt:2: no test must be red",
		"== a\nred . TestA\n+x":           "traps.txt:3: this is in no edit",
		"== a\nred . TestA\nedit x.go\nx": "traps.txt:4: a line of an edit begins with",
		"== a\nred TestA":                 "traps.txt:2: a test is its folder and its name",
		"== a\nred -fast . TestA":         "traps.txt:2: there is no flag -fast",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", text, err, why)
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	rows := func() []row { return []row{{title: "1 a"}, {title: "2 ab"}} }
	reason := func(title string) row { return row{title: title, reason: "words"} }
	for _, c := range []struct {
		entries []row
		want    string // empty: it is right
	}{
		{[]row{reason("1 a"), reason("2 a")}, ""},
		{[]row{reason("1")}, `traps.txt has nothing for "2 ab"`},
		{[]row{reason("1"), reason("2"), reason("3")}, `0 rows of docs/TRAPS.md begin with "3"`},
		{[]row{reason("1"), reason(""), reason("2")}, `2 rows of docs/TRAPS.md begin with ""`},
		{[]row{reason("1"), reason("1 a"), reason("2")}, `"1 a" stands twice`},
		{[]row{{title: "1"}, reason("2")}, `"1" has neither an edit nor a reason`},
	} {
		err := join(rows(), c.entries)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, want %q", c.entries, err, c.want)
		}
	}
}

// What is not the test's own failure has found nothing.
func TestJudge(t *testing.T) {
	t.Parallel()
	failed := &exec.ExitError{}
	for _, c := range []struct {
		said   string
		err    error
		killed bool
		want   string
	}{
		{"=== RUN   TestA\n--- FAIL: TestA (0.00s)\nFAIL\n", failed, false, "red"},
		{"    --- FAIL: TestA/b (0.00s)\n", failed, false, "red"},
		{"=== RUN   TestA\npanic: runtime error: index out of range\n", failed, false, "red"},
		{"WARNING: DATA RACE\n", failed, false, "red"},
		{"--- FAIL: TestA (60.00s)\npanic: test timed out after 1m0s\n", failed, false, "timed out"},
		{"--- FAIL: TestA (60.00s)\n", failed, true, "timed out"},
		{"testing: warning: no tests to run\nPASS\n", nil, false, "there is no such test"},
		{"--- SKIP: TestA (0.00s)\nPASS\n", nil, false, "skipped"},
		{"--- PASS: TestA (0.00s)\nPASS\n", nil, false, "green"},
		{"flag provided but not defined\n", failed, false, "<nil>"},
	} {
		if got := judge(c.said, c.err, c.killed); got != c.want {
			t.Errorf("%q, %v: %s, want %s", c.said, c.err, got, c.want)
		}
	}
}
