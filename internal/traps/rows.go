package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/redlock-go/redlock/internal/edits"
)

// row is one of docs/TRAPS.md.
type row struct {
	title  string // its number, if it has one, and the trap
	by     string // the tests that close it, or commands that run them
	traps  []trap
	reason string // why it has none
}

// trap is what puts a row's bug back, or one side of it, and the tests that must be red then.
type trap struct {
	edits []edits.Edit
	tests []test
}

// test is one of a package, or a case of one.
type test struct {
	race, long bool // with the race detector; without -short
	folder     string
	name       string
}

func (t test) String() string { return t.name }

//go:embed traps.txt
var written string

// read returns the rows of docs/TRAPS.md with what traps.txt has for each.
func read(root string) ([]row, error) {
	document, err := os.ReadFile(filepath.Join(root, "docs/TRAPS.md"))
	if err != nil {
		return nil, err
	}
	rows := table(string(document))
	entries, err := parse(written)
	if err != nil {
		return nil, err
	}
	return rows, join(rows, entries)
}

// table returns the rows of docs/TRAPS.md: those of its table, and those of its list, which have
// their commands behind a colon.
func table(document string) (rows []row) {
	for line := range strings.Lines(document) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "| |"):
		case strings.HasPrefix(line, "| "):
			cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
			rows = append(rows, row{title: strings.Join(cells[:len(cells)-1], " "), by: cells[len(cells)-1]})
		case strings.HasPrefix(line, "- "):
			title, commands, _ := strings.Cut(strings.TrimPrefix(line, "- "), ": `")
			rows = append(rows, row{title: title, by: "`" + commands})
		}
	}
	return rows
}

// parse reads traps.txt. Its head tells the form.
func parse(text string) (entries []row, err error) {
	err = edits.EachLine("traps.txt", text, func(line string) error { return parseLine(&entries, line) })
	return entries, err
}

func parseLine(entries *[]row, line string) error {
	if title, is := strings.CutPrefix(line, "== "); is {
		*entries = append(*entries, row{title: title})
		return nil
	}
	if len(*entries) == 0 {
		return errors.New("this is under no row")
	}
	r := &(*entries)[len(*entries)-1]
	if reason, is := strings.CutPrefix(line, "none: "); is {
		r.reason = reason
		return nil
	}
	if words, is := strings.CutPrefix(line, "red "); is {
		t, err := parseTest(words)
		if err != nil {
			return err
		}
		if len(r.traps) == 0 || len(r.traps[len(r.traps)-1].edits) > 0 {
			r.traps = append(r.traps, trap{})
		}
		last := &r.traps[len(r.traps)-1]
		last.tests = append(last.tests, t)
		return nil
	}
	if len(r.traps) == 0 {
		return errors.New("no test must be red")
	}
	last := &r.traps[len(r.traps)-1]
	return edits.ParseLine(&last.edits, line)
}

func parseTest(words string) (t test, err error) {
	fields := strings.Fields(words)
	for len(fields) > 0 && strings.HasPrefix(fields[0], "-") {
		switch fields[0] {
		case "-race":
			t.race = true
		case "-long":
			t.long = true
		default:
			return t, fmt.Errorf("there is no flag %s", fields[0])
		}
		fields = fields[1:]
	}
	if len(fields) != 2 {
		return t, errors.New("a test is its folder and its name")
	}
	t.folder, t.name = fields[0], fields[1]
	return t, nil
}

// join gives each row what is written for it: an entry has the beginning of the row's title.
func join(rows, entries []row) error {
	var all []error
	for _, e := range entries {
		var of []*row
		for i := range rows {
			if strings.HasPrefix(rows[i].title, e.title) {
				of = append(of, &rows[i])
			}
		}
		switch {
		case len(of) != 1:
			all = append(all, fmt.Errorf("%d rows of docs/TRAPS.md begin with %q", len(of), e.title))
		case of[0].traps != nil || of[0].reason != "":
			all = append(all, fmt.Errorf("%q stands twice in traps.txt", e.title))
		case (e.traps == nil) == (e.reason == ""):
			all = append(all, fmt.Errorf("%q has neither an edit nor a reason, or both", e.title))
		default:
			of[0].traps, of[0].reason = e.traps, e.reason
		}
	}
	for _, r := range rows {
		if r.traps == nil && r.reason == "" {
			all = append(all, fmt.Errorf("traps.txt has nothing for %q", r.title))
		}
	}
	return errors.Join(all...)
}
