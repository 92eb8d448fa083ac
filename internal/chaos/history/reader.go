package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Ext is the extension of history files.
const Ext = ".jsonl"

// Reader reads the history files of a folder, even while they are written.
type Reader struct {
	dir    string
	read   map[string]int64 // how many bytes of each file were read
	events []Event
}

// NewReader returns a reader that has read nothing yet.
func NewReader(dir string) *Reader { return &Reader{dir: dir, read: map[string]int64{}} }

// Read reads what is new in all files, and returns all events so far, in the order of At. It leaves an incomplete
// last line of a file for the next call, so a line that a killed process has left incomplete is never returned.
func (r *Reader) Read() ([]Event, error) {
	files, err := filepath.Glob(filepath.Join(r.dir, "*"+Ext))
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	for _, file := range files {
		if err := r.take(file); err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
	}
	slices.SortStableFunc(r.events, before)
	return slices.Clone(r.events), nil
}

func (r *Reader) take(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(r.read[path], io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	for {
		line, rest, whole := bytes.Cut(text, []byte{'\n'})
		if !whole {
			return nil
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s, byte %d: %w", path, r.read[path], err)
		}
		r.events = append(r.events, e)
		r.read[path] += int64(len(line)) + 1
		text = rest
	}
}

// before orders events by At. Of two events at the same time, the beginning of a call comes first, so that no check
// concludes that the call began after another call had ended.
func before(a, b Event) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(order(a.Kind), order(b.Kind)))
}

func order(k Kind) int {
	switch k {
	case LockBegins, WriteBegins, ReadBegins:
		return 0
	}
	return 1
}
