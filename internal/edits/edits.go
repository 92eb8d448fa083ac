// Package edits changes source files for one build: the go command reads the changed text in the
// place of a file (-overlay), and the file stays as it is. Files that are embedded can be changed
// in the same way. One program can have many changes, of which the environment chooses one.
package edits

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Edit is a change of a file. Its old text must be there exactly once.
type Edit struct {
	File     string // from the root of the module, with slashes
	Old, New string
}

// EachLine gives read each line of a text that is neither empty nor a comment. The error tells the
// line.
func EachLine(file, text string, read func(line string) error) error {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := read(line); err != nil {
			return fmt.Errorf("%s:%d: %w", file, number, err)
		}
	}
	return nil
}

// ParseLine reads a line of edits as they are written down: "edit FILE" begins one, the lines with
// a space or a - are its old text, and those with a space or a + its new one.
func ParseLine(edits *[]Edit, line string) error {
	if file, is := strings.CutPrefix(line, "edit "); is {
		*edits = append(*edits, Edit{File: file})
		return nil
	}
	if len(*edits) == 0 {
		return errors.New("this is in no edit")
	}
	e := &(*edits)[len(*edits)-1]
	text := line[1:] + "\n"
	switch line[0] {
	case '-':
		e.Old += text
	case '+':
		e.New += text
	case ' ':
		e.Old += text
		e.New += text
	default:
		return fmt.Errorf("a line of an edit begins with -, + or a space, and not with %q", line[0])
	}
	return nil
}

// Apply returns the changed text of each file.
func Apply(root string, edits []Edit) (map[string]string, error) {
	changed := make(map[string]string)
	for _, e := range edits {
		text, is := changed[e.File]
		if !is {
			source, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, err
			}
			text = string(source)
		}
		text, err := e.In(text)
		if err != nil {
			return nil, err
		}
		changed[e.File] = text
	}
	return changed, nil
}

// In returns the changed text of the file, or of a part of it.
func (e Edit) In(text string) (string, error) {
	if n := strings.Count(text, e.Old); n != 1 {
		return "", fmt.Errorf("%s: this text is there %d times, and not once:\n%s", e.File, n, e.Old)
	}
	return strings.Replace(text, e.Old, e.New, 1), nil
}

// Alone writes what -overlay takes for a build with these edits, to the folder scratch, and returns
// its name.
func Alone(root, scratch string, edits []Edit) (string, error) {
	changed, err := Apply(root, edits)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return "", err
	}
	o := NewOverlay(root, scratch)
	for file, text := range changed {
		if _, err := o.Put(file, []byte(text)); err != nil {
			return "", err
		}
	}
	return o.Write()
}

// Overlay is what the go command reads in the place of files.
type Overlay struct {
	root, scratch string
	replaced      map[string]string
}

// NewOverlay returns an overlay for files below root, which is kept in the folder scratch.
func NewOverlay(root, scratch string) *Overlay {
	return &Overlay{root, scratch, make(map[string]string)}
}

// Put puts text in the place of the file, which need not exist. It returns the file that the text
// is in, by which the compiler calls it.
func (o *Overlay) Put(file string, text []byte) (name string, err error) {
	absolute, err := filepath.Abs(filepath.Join(o.root, file))
	if err != nil {
		return "", err
	}
	name = strings.ReplaceAll(file, "/", "_")
	to, err := filepath.Abs(filepath.Join(o.scratch, name))
	if err != nil {
		return "", err
	}
	o.replaced[absolute] = to
	return name, os.WriteFile(to, text, 0o600)
}

// Write writes what -overlay takes, and returns its name.
func (o *Overlay) Write() (string, error) {
	text, err := json.Marshal(map[string]any{"Replace": o.replaced})
	if err != nil {
		return "", err
	}
	path := filepath.Join(o.scratch, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}
