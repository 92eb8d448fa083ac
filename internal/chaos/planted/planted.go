// Package planted has bugs that chaos must find, as edits of the library: planted.txt. The library
// knows nothing of them.
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
	err = edits.EachLine("planted.txt", text, func(line string) error { return parseLine(&bugs, line) })
	return bugs, err
}

func parseLine(bugs *[]Bug, line string) error {
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

// Together returns a build of the library in root with all bugs, each by its name. What it reads is
// kept in the folder scratch.
func Together(root, scratch string) (*edits.Together, error) {
	bugs, err := Bugs()
	if err != nil {
		return nil, err
	}
	all := edits.NewTogether(root, scratch)
	var errs []error
	for _, b := range bugs {
		if _, err := edits.Apply(root, b.Edits); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", b.Name, err))
			continue
		}
		switch is, err := all.Add(b.Name, b.Edits); {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", b.Name, err))
		case !is:
			errs = append(errs, fmt.Errorf("%s cannot be built with others: an edit in Go must be within a function, and change its body alone", b.Name))
		}
	}
	return all, errors.Join(errs...)
}

// Overlay writes what -overlay takes for a build with the bug of this name, to the folder scratch,
// and returns its file. The library is in root.
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
