// Package edits changes source files for one build: the go command reads the changed text in the place of a file (-overlay), and
// the file stays as it is. Files that are embedded can be changed in the same way.
package edits

import (
	"encoding/json"
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

// Overlay is what the go command reads in the place of files.
type Overlay struct {
	root, scratch string
	replaced      map[string]string
}

// NewOverlay returns an overlay for files below root, which is kept in the folder scratch.
func NewOverlay(root, scratch string) *Overlay {
	return &Overlay{root, scratch, make(map[string]string)}
}

// Put puts text in the place of the file, which need not exist. It returns the file that the text is in, by which the compiler calls it.
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
