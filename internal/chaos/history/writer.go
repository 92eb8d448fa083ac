package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Writer appends events to a file, one line of JSON each. It passes each line to the kernel immediately, in one write,
// so a SIGKILL loses at most one line. A Writer is safe for concurrent use.
type Writer struct {
	clock Clock

	mu   sync.Mutex
	file *os.File
	err  error
}

// Create creates the file, which must not exist yet, and returns its Writer.
func Create(path string, clock Clock) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return &Writer{clock: clock, file: file}, nil
}

// Write appends the event. If At is 0, Write first sets At to the present time. Close returns the error of a write
// that failed.
func (w *Writer) Write(e Event) {
	if e.At == 0 {
		e.At = w.clock.Now()
	}
	line, err := json.Marshal(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.err == nil {
		_, err = w.file.Write(append(line, '\n'))
	}
	if w.err == nil {
		w.err = err
	}
}

// Now returns the time since the start of the run.
func (w *Writer) Now() time.Duration { return w.clock.Now() }

// Clock returns the clock of the run.
func (w *Writer) Clock() Clock { return w.clock }

// Close closes the file, and returns an error if the file is incomplete.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.file.Close()
	if w.err == nil {
		w.err = err
	}
	if w.err != nil {
		return fmt.Errorf("history: %w", w.err)
	}
	return nil
}

// Save writes a history in memory to a file.
func Save(path string, events []Event) error {
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for _, e := range events {
		if err := lines.Encode(e); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}
