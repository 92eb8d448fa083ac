// Package planted has bugs that chaos must find, as edits of the library: planted.txt. The library knows nothing of them.
package planted

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/internal/edits"
)

// Bug is one of them.
type Bug struct {
	Name  string
	Edits []edits.Edit
}

//go:embed planted.txt
var written string

// Bugs returns all.
func Bugs() ([]Bug, error) { return parse(written) }

// parse reads planted.txt. Its head tells the form.
func parse(text string) (bugs []Bug, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if err := parseLine(&bugs, strings.TrimSuffix(line, "\n")); err != nil {
			return nil, fmt.Errorf("planted.txt:%d: %w", number, err)
		}
	}
	return bugs, nil
}

func parseLine(bugs *[]Bug, line string) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	if title, is := strings.CutPrefix(line, "== "); is {
		name, _, told := strings.Cut(title, ": ")
		if !told {
			return errors.New("what is this bug?")
		}
		*bugs = append(*bugs, Bug{Name: name})
		return nil
	}
	if len(*bugs) == 0 {
		return errors.New("this is of no bug")
	}
	return edits.ParseLine(&(*bugs)[len(*bugs)-1].Edits, line)
}

// Overlay writes what -overlay takes for a build with the bug of this name, to the folder scratch, and returns its file. The library is
// in root.
func Overlay(root, scratch, name string) (string, error) {
	bugs, err := Bugs()
	if err != nil {
		return "", err
	}
	var names []string
	for _, b := range bugs {
		if b.Name == name {
			return edits.Alone(root, scratch, b.Edits)
		}
		names = append(names, b.Name)
	}
	return "", fmt.Errorf("planted: no bug is called %q; there are: %s", name, strings.Join(names, ", "))
}
