package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
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
