//go:build unix

package run

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/report"
)

// report writes the round's report beside its history.
func (r *round) report(events []history.Event, v check.Verdict) error {
	return report.Save(filepath.Join(r.dir, "report.html"), report.Run{
		Title:      fmt.Sprintf("Chaos run, round %d", r.number),
		Started:    r.began,
		Seed:       r.seed,
		Command:    r.command(),
		Events:     events,
		Figures:    v.Figures(),
		Violations: v.Texts(),
		Moments:    v.Moments(),
	})
}

// Summary returns the figures of the run and its faults by kind, a line each.
func (res Result) Summary() []string {
	lines := []string{fmt.Sprintf("%d rounds, %d violations", res.Rounds, len(res.Violations))}
	for _, f := range res.Figures() {
		lines = append(lines, f.Value+" "+f.Label)
	}
	lines = append(lines, fmt.Sprintf("faults by kind: %v", byKind(res.FaultsByKind)))
	if res.Failures > 0 {
		lines = append(lines, fmt.Sprintf("faults that could not be applied, by kind: %v", byKind(res.FailedByKind)))
	}
	return lines
}

func byKind(counts map[string]int) (kinds []string) {
	for kind, n := range counts {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(kinds)
	return kinds
}
