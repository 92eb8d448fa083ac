package report

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// Run is what a report tells.
type Run struct {
	Title   string
	Started time.Time
	Seed    uint64
	Command string          // what to paste to run it again
	Events  []history.Event // empty: there is no timeline

	Figures    []Figure
	Violations []string // empty: the run was right

	Head []string   // of a table of how long locks took
	Rows [][]string // of it; empty: there is none

	Buckets    []string    // of the histograms: how long the times in each are
	Histograms []Histogram // of how long locks took; empty: there is none
}

// Figure is a number worth telling, as people read it.
type Figure struct {
	Label, Value string
}

//go:embed assets
var assets embed.FS

var page = template.Must(template.ParseFS(assets, "assets/page.html"))

// scripts in the order in which they are needed. They are one module in the page.
var scripts = []string{"theme", "lanes", "window", "words", "paint", "overview", "point", "input", "main"}

// Save writes the report of r to a file.
func Save(path string, r Run) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := errors.Join(Write(file, r), file.Close()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// Write writes the report of r as one HTML file.
func Write(w io.Writer, r Run) error {
	line := newTimeline(r.Events)
	return page.Execute(w, map[string]any{
		"Title":      cmp.Or(r.Title, "Chaos run"),
		"Started":    r.Started.UTC().Format("2 January 2006, 15:04:05 UTC"),
		"Length":     line.length().Round(100 * time.Millisecond),
		"Events":     len(r.Events),
		"Seed":       r.Seed,
		"Command":    r.Command,
		"Figures":    r.Figures,
		"Violations": r.Violations,
		"Head":       r.Head,
		"Rows":       r.Rows,
		"Charts":     charts(r),
		"Timeline":   line,
		"Style":      template.CSS(asset("style.css")),
		"Script":     template.JS(allScripts()),
	})
}

func charts(r Run) (all []chart) {
	for _, h := range r.Histograms {
		all = append(all, chartOf(h, r.Buckets))
	}
	return all
}

func allScripts() string {
	var all strings.Builder
	for _, name := range scripts {
		all.WriteString(asset(name + ".js"))
	}
	return all.String()
}

// asset panics for a file that was not embedded: the first test would tell.
func asset(name string) string {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err)
	}
	return string(text)
}
