package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/growth"
	"github.com/redlock-go/redlock/bench/internal/report"
	"github.com/redlock-go/redlock/bench/internal/stats"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

func TestEveryPlotIsDrawn(t *testing.T) {
	r, dir := report.New(nil, time.Second, 1), t.TempDir()
	q := stats.Quantiles{P50: time.Millisecond, P99: 2 * time.Millisecond, Max: time.Second}
	for _, w := range workload.All() {
		for _, c := range contender.All {
			if w.Suits(c) {
				r.Add(w, c.Name, workload.Cell{PerSecond: 100, Pair: q, Wait: q, Handover: q, ClientCPU: time.Microsecond})
			}
		}
	}
	if err := r.WriteJSON(filepath.Join(dir, "results.json")); err != nil {
		t.Fatal(err)
	}
	if err := drawAll(dir); err != nil {
		t.Fatal(err)
	}
	drawn, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if want := len(charts()) + 1; err != nil || len(drawn) != want {
		t.Errorf("drawn: %v, %v, want %d", drawn, err, want)
	}
}

func TestAPlotForEachRowOfGrowth(t *testing.T) {
	r, dir := growth.NewReport(nil), t.TempDir()
	for i, row := range growth.All() {
		result := &growth.Result{Row: row}
		for n := 1; n <= 1+i*100; n *= 10 { // the first has one point
			result.Points = append(result.Points, growth.Point{N: n, Values: make([]float64, len(row.Figures))})
		}
		result.Points[0].Values[0] = 7
		r.Rows = append(r.Rows, result)
	}
	if err := r.WriteJSON(filepath.Join(dir, "growth.json")); err != nil {
		t.Fatal(err)
	}
	if err := drawAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, row := range growth.All() {
		if drawn, err := os.ReadFile(filepath.Join(dir, growthFile(row.Name))); err != nil || !strings.Contains(string(drawn), row.Title) {
			t.Errorf("%s: %v, and it has no title %q", row.Name, err, row.Title)
		}
	}
	if err := drawAll(t.TempDir()); err == nil {
		t.Error("there was nothing to draw, and no error")
	}
}
