// Package growth measures what a piece of work costs as there is more of it: more names, more
// waiters, more clients, more masters. Each figure stays flat when the cost is proportional to the
// work, so that a reader sees at once what does not.
package growth

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Row is one kind of work that grows.
type Row struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Of      string   `json:"of"` // what n counts
	Figures []Figure `json:"figures"`

	ns      []int // where it is measured
	usual   int   // the end, unless another is asked for
	measure func(n int, s Settings) ([]float64, error)
}

// Figure is something that is measured of a row.
type Figure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
}

// Settings say how much is measured.
type Settings struct {
	Rows *regexp.Regexp // of the names
	Most int            // the end of all rows; 0: of each the usual one
	Cell time.Duration  // how long a point is measured, where that is not given by the work itself
}

// All are the rows, in the order of the report.
func All() []Row {
	return []Row{namesHeld(), namesNew(), waiters(), deadWaiters(), clients(), masters(), workers(), sets()}
}

// Measure measures the rows, and adds them to the report. A row that fails ends there; the others
// are measured all the same.
func Measure(s Settings, r *Report, log func(format string, args ...any)) error {
	var errs []error
	for _, row := range All() {
		if s.Rows.MatchString(row.Name) {
			result, err := row.measureAll(s, log)
			r.Rows = append(r.Rows, result)
			errs = append(errs, err)
		}
	}
	if len(r.Rows) == 0 {
		errs = append(errs, fmt.Errorf("no row matches %q", s.Rows))
	}
	return errors.Join(errs...)
}

// measureAll measures a row up to its end, or to the first error.
func (r Row) measureAll(s Settings, log func(format string, args ...any)) (*Result, error) {
	result := &Result{Row: r, Load: []string{load()}}
	defer func() { result.Load = append(result.Load, load()) }()
	for _, n := range r.points(s.Most) {
		begun := time.Now()
		values, err := r.measure(n, s)
		if err != nil {
			return result, fmt.Errorf("%s, %d %s: %w", r.Name, n, r.Of, err)
		}
		log("%s  %d %s  %s (%v)", r.Name, n, r.Of, r.text(values), time.Since(begun).Round(time.Second))
		result.Points = append(result.Points, Point{n, values})
	}
	return result, nil
}

// points are those up to an end, or the end alone if all are above it.
func (r Row) points(most int) []int {
	if most == 0 {
		most = r.usual
	}
	if most < r.ns[0] {
		return []int{most}
	}
	upTo, _ := slices.BinarySearch(r.ns, most+1)
	return r.ns[:upTo]
}
