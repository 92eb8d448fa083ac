// Package report turns cells into a table, JSON, plots and the aims.
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/stats"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// Report is a run: where it was, and what was measured.
type Report struct {
	Date    time.Time         `json:"date"`
	Command string            `json:"command"`
	Machine Machine           `json:"machine"`
	Version map[string]string `json:"versions"`
	Cell    time.Duration     `json:"cell"`   // how long each cell was measured
	Rounds  int               `json:"rounds"` // how often
	Results []*Result         `json:"results"`
	Absent  map[string]string `json:"notRun"` // contender, or contender and workload, to why
	Aims    []Aim             `json:"aims"`

	failed []error
}

// Result is all rounds of one contender under one workload.
type Result struct {
	Workload  string          `json:"workload"`
	Contender string          `json:"contender"`
	Masters   int             `json:"masters"`
	Summary   workload.Cell   `json:"summary"` // medians of the rounds; the max of max
	Cells     []workload.Cell `json:"rounds"`
}

// New begins a report of a run that was started with these arguments.
func New(args []string, cell time.Duration, rounds int) *Report {
	return &Report{
		Date: time.Now().UTC(), Command: strings.TrimSpace("go run . " + strings.Join(args, " ")),
		Machine: ThisMachine(), Version: Versions(), Cell: cell, Rounds: rounds, Absent: map[string]string{},
	}
}

// Add takes in one cell.
func (r *Report) Add(w workload.Workload, contender string, cell workload.Cell) {
	result := r.Find(w.Name, contender)
	if result == nil {
		result = &Result{Workload: w.Name, Contender: contender, Masters: w.Redis.Masters}
		r.Results = append(r.Results, result)
	}
	result.Cells = append(result.Cells, cell)
	result.Summary = summarize(result.Cells)
}

// NotRun notes why a contender could not be measured, at all or under a workload.
func (r *Report) NotRun(what string, why error) {
	if r.Absent[what] == "" && !errors.Is(why, server.ErrNotInstalled) {
		r.failed = append(r.failed, fmt.Errorf("NOT RUN: %s: %w", what, why))
	}
	r.Absent[what] = why.Error()
}

// Err returns what could not be measured, but for what is not installed.
func (r *Report) Err() error { return errors.Join(r.failed...) }

// Find returns the result of a contender under a workload, or nil.
func (r *Report) Find(workload, contender string) *Result {
	for _, result := range r.Results {
		if result.Workload == workload && result.Contender == contender {
			return result
		}
	}
	return nil
}

func summarize(cells []workload.Cell) workload.Cell {
	float := func(of func(workload.Cell) float64) float64 { return stats.MedianFloat(each(cells, of)) }
	duration := func(of func(workload.Cell) time.Duration) time.Duration { return stats.MedianDuration(each(cells, of)) }
	quantiles := func(of func(workload.Cell) stats.Quantiles) stats.Quantiles {
		q := stats.Quantiles{
			P50: duration(func(c workload.Cell) time.Duration { return of(c).P50 }),
			P99: duration(func(c workload.Cell) time.Duration { return of(c).P99 }),
		}
		for _, c := range cells {
			q.Max = max(q.Max, of(c).Max)
		}
		return q
	}
	sum := workload.Cell{
		PerSecond: float(func(c workload.Cell) float64 { return c.PerSecond }),
		Pair:      quantiles(func(c workload.Cell) stats.Quantiles { return c.Pair }),
		Wait:      quantiles(func(c workload.Cell) stats.Quantiles { return c.Wait }),
		Handover:  quantiles(func(c workload.Cell) stats.Quantiles { return c.Handover }),
		Evenness:  float(func(c workload.Cell) float64 { return c.Evenness }),
		ClientCPU: duration(func(c workload.Cell) time.Duration { return c.ClientCPU }),
		ServerCPU: duration(func(c workload.Cell) time.Duration { return c.ServerCPU }),
		Scripts:   duration(func(c workload.Cell) time.Duration { return c.Scripts }),
		Allocs:    float(func(c workload.Cell) float64 { return c.Allocs }),

		ClientCores: float(func(c workload.Cell) float64 { return c.ClientCores }),
		ServerCores: float(func(c workload.Cell) float64 { return c.ServerCores }),
		Calls:       float(func(c workload.Cell) float64 { return c.Calls }),
	}
	for _, c := range cells {
		sum.Failed += c.Failed
		if sum.FirstErr == "" {
			sum.FirstErr = c.FirstErr
		}
	}
	return sum
}

func each[T any](cells []workload.Cell, of func(workload.Cell) T) []T {
	values := make([]T, len(cells))
	for i, c := range cells {
		values[i] = of(c)
	}
	return values
}

// WriteJSON writes all of it; times are in nanoseconds.
func (r *Report) WriteJSON(path string) error {
	r.Aims = r.judge()
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
