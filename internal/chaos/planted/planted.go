// Package planted has the bugs that the simulation must find. planted.txt lists them as edits of the library. One build
// contains all bugs, and an environment variable chooses one of them. The library does not depend on this package.
package planted

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bug is a planted bug.
type Bug struct {
	Name  string
	edits []edit
}

// edit is a change of a file. The old text must occur once in the file.
type edit struct {
	file     string // from the root of the module, with slashes
	old, new string
}

//go:embed planted.txt
var written string

// Bugs returns all planted bugs.
func Bugs() ([]Bug, error) { return parse(written) }

// parse reads planted.txt, whose first lines describe the format.
func parse(text string) (bugs []Bug, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if err := parseLine(&bugs, line); err != nil {
			return nil, fmt.Errorf("planted.txt:%d: %w", number, err)
		}
	}
	return bugs, nil
}

func parseLine(bugs *[]Bug, line string) error {
	if title, is := strings.CutPrefix(line, "== "); is {
		name, _, described := strings.Cut(title, ": ")
		if !described {
			return errors.New("the bug has no description")
		}
		*bugs = append(*bugs, Bug{Name: name})
		return nil
	}
	if len(*bugs) == 0 {
		return errors.New("the line belongs to no bug")
	}
	edits := &(*bugs)[len(*bugs)-1].edits
	if file, is := strings.CutPrefix(line, "edit "); is {
		*edits = append(*edits, edit{file: file})
		return nil
	}
	if len(*edits) == 0 {
		return errors.New("the line belongs to no edit")
	}
	e, text := &(*edits)[len(*edits)-1], line[1:]+"\n"
	switch line[0] {
	case '-':
		e.old += text
	case '+':
		e.new += text
	case ' ':
		e.old += text
		e.new += text
	default:
		return fmt.Errorf("a line of an edit begins with -, + or a space, not with %q", line[0])
	}
	return nil
}

// apply returns the text with the edit.
func (e edit) apply(text string) (string, error) {
	if n := strings.Count(text, e.old); n != 1 {
		return "", fmt.Errorf("%s: this text occurs %d times, want once:\n%s", e.file, n, e.old)
	}
	return strings.Replace(text, e.old, e.new, 1), nil
}

// applyAll returns the changed text of each file.
func applyAll(root string, edits []edit) (map[string]string, error) {
	changed := make(map[string]string)
	for _, e := range edits {
		text, is := changed[e.file]
		if !is {
			source, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, err
			}
			text = string(source)
		}
		text, err := e.apply(text)
		if err != nil {
			return nil, err
		}
		changed[e.file] = text
	}
	return changed, nil
}
