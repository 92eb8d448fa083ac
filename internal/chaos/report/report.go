// Package report draws a run as one HTML file without a script: what each master and client did,
// the faults, and where rules were violated. It reads nothing but the events of the run.
package report

import (
	"bytes"
	_ "embed"
	"html/template"
	"io"
	"os"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// Run is what a report shows.
type Run struct {
	Title      string
	Started    time.Time
	Seed       uint64
	Command    string          // runs it again; may be empty
	Events     []history.Event // in the order of At; empty: there is no picture
	Figures    []Figure
	Violations []string        // empty: the run was right
	Moments    []time.Duration // when the violations happened
}

// Figure is a number of a run with its label.
type Figure struct {
	Label, Value string
}

//go:embed page.html
var text string

var page = template.Must(template.New("page").Parse(text))

// Save writes the report of r to a file.
func Save(path string, r Run) error {
	var text bytes.Buffer
	if err := Write(&text, r); err != nil {
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// Write writes the report of r as one HTML file.
func Write(w io.Writer, r Run) error {
	return page.Execute(w, struct {
		Run
		Picture *picture
	}{r, draw(r)})
}
