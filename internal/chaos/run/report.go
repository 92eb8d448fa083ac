//go:build unix

package run

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/check"
	"github.com/redlock-go/redlock/internal/chaos/history"
	"github.com/redlock-go/redlock/internal/chaos/latency"
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
		Head:       latency.Head,
		Rows:       r.times.Rows(),
		Buckets:    latency.Buckets(),
		Histograms: histograms(r.times),
	})
}

// report writes the run's report beside its rounds: what all of them found together.
func (res Result) report(c Config, began time.Time) error {
	return report.Save(filepath.Join(c.Out, "report.html"), report.Run{
		Title:      fmt.Sprintf("Chaos run of %d rounds", res.Rounds),
		Started:    began,
		Seed:       c.Seed,
		Figures:    res.Figures(),
		Violations: res.Texts(),
		Head:       latency.Head,
		Rows:       res.Times.Rows(),
		Buckets:    latency.Buckets(),
		Histograms: histograms(res.Times),
	})
}

// histograms are those of the classes, each beside the healthy one. What has no time is left out.
func histograms(times latency.Times) (all []report.Histogram) {
	var healthy latency.Histogram
	for _, h := range times.Histograms() {
		if h.Class == latency.Healthy {
			healthy = h
		}
		for _, one := range []report.Histogram{
			{Name: h.Class.String() + ": locks", Counts: h.Lock, Beside: healthy.Lock},
			{Name: h.Class.String() + ": hand-overs", Counts: h.HandOver, Beside: healthy.HandOver},
		} {
			if h.Class == latency.Healthy {
				one.Beside = nil
			}
			if slices.Max(one.Counts) > 0 {
				all = append(all, one)
			}
		}
	}
	return all
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
	if len(res.Times) == 0 {
		return lines
	}
	for _, row := range slices.Concat([][]string{latency.Head}, res.Times.Rows()) {
		lines = append(lines, fmt.Sprintf("%-28s %6s %9s %9s %10s  %10s %9s %9s %10s", anys(row)...))
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

func anys(texts []string) (all []any) {
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}
