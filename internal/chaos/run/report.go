//go:build unix

package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/report"
)

// report writes the round's report beside its history.
func (r *round) report(events []history.Event, v check.Verdict) error {
	file, err := os.Create(filepath.Join(r.dir, "report.html"))
	if err != nil {
		return fmt.Errorf("chaos: %w", err)
	}
	var violations []string
	for _, violation := range v.Violations {
		violations = append(violations, violation.String())
	}
	err = report.Write(file, report.Run{
		Title:      fmt.Sprintf("Chaos run, round %d", r.number),
		Started:    r.began,
		Seed:       r.seed,
		Command:    r.command(),
		Events:     events,
		Figures:    figures(v.Counts),
		Violations: violations,
	})
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("chaos: report: %w", err)
	}
	return nil
}

// figures are the counts as people read them.
func figures(c check.Counts) []report.Figure {
	number := func(label string, n int) report.Figure { return report.Figure{Label: label, Value: fmt.Sprint(n)} }
	return []report.Figure{
		number("operations", c.Operations),
		number("holds", c.Holds),
		number("re-entries", c.Reentries),
		number("renewals", c.Renewals),
		number("acquisitions that failed", c.Failed),
		number("holders told that it was over", c.ToldOf),
		number("holders killed", c.Killed),
		number("faults", c.Faults),
		number("overlaps provoked", c.Overlaps),
		number("stale accesses refused by a guard", c.Refused),
		number("stale writes taken without one", c.Stale),
		number("lost updates read without one", c.LostUpdates),
		number("accesses of unknown outcome", c.Unknown),
		number("operations put in order", c.Linearized),
		{Label: "longest wait for a lock", Value: c.LongestWait.Round(time.Millisecond).String()},
		{Label: "longest takeover from a dead holder", Value: c.LongestTakeover.Round(time.Millisecond).String()},
		{Label: "all names lockable after", Value: c.LongestRelock.Round(time.Millisecond).String()},
	}
}

// Summary returns the figures of the run and its faults by kind, a line each.
func (res Result) Summary() []string {
	lines := []string{fmt.Sprintf("%d rounds, %d violations", res.Rounds, len(res.Violations))}
	for _, f := range figures(res.Counts) {
		lines = append(lines, f.Value+" "+f.Label)
	}
	var kinds []string
	for kind, n := range res.FaultsByKind {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(kinds)
	return append(lines, fmt.Sprintf("faults by kind: %v", kinds))
}
