package growth

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redlock-go/redlock/bench/internal/report"
)

// Report is a run: where it was, and what was measured.
type Report struct {
	Date    time.Time         `json:"date"`
	Command string            `json:"command"`
	Machine report.Machine    `json:"machine"`
	Version map[string]string `json:"versions"`
	Rows    []*Result         `json:"rows"`
}

// Result is what was measured of a row.
type Result struct {
	Row
	Points []Point  `json:"points"`
	Load   []string `json:"load"` // of the machine before and after: /proc/loadavg
}

// Point is the figures of a row at one n, in the order of its Figures.
type Point struct {
	N      int       `json:"n"`
	Values []float64 `json:"values"`
}

// NewReport begins a report of a run that was started with these arguments.
func NewReport(args []string) *Report {
	return &Report{
		Date: time.Now().UTC(), Command: strings.TrimSpace("go run . " + strings.Join(args, " ")),
		Machine: report.ThisMachine(), Version: report.Versions(),
	}
}

// WriteJSON writes all of it.
func (r *Report) WriteJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// WriteTable writes the figures for people, row by row.
func (r *Report) WriteTable(out io.Writer) {
	fmt.Fprintf(out, "%s, %s/%s, %d CPUs (%s)\n", r.Version["go"], r.Machine.OS, r.Machine.Arch, r.Machine.CPUs, r.Machine.CPU)
	for _, row := range r.Rows {
		fmt.Fprintf(out, "\n%s: %s; load %s\n", row.Name, row.Title, strings.Join(row.Load, " to "))
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		heads, units := "\t", row.Of+"\t"
		for _, f := range row.Figures {
			heads += f.Name + "\t"
			units += f.Unit + "\t"
		}
		fmt.Fprintf(table, "%s\n%s\n", heads, units)
		for _, p := range row.Points {
			fmt.Fprint(table, p.N, "\t")
			for _, v := range p.Values {
				fmt.Fprint(table, short(v), "\t")
			}
			fmt.Fprintln(table)
		}
		_ = table.Flush() // as for all of this: a terminal that is gone reads no error
	}
}

// text is the figures of a point in one line.
func (r Row) text(values []float64) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = fmt.Sprintf("%s %s %s", r.Figures[i].Name, short(v), r.Figures[i].Unit)
	}
	return strings.Join(all, ", ")
}

// short is v with three digits at least.
func short(v float64) string {
	if v == 0 || math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// load is the load of the machine over the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
