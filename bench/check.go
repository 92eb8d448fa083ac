package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/redlock-go/redlock/bench/internal/child"
	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// threshold holds the limits of the check, which are in threshold.json.
type threshold struct {
	FloorRatio    float64 `json:"floorRatio"`    // the least ratio of redlock's pairs/s to the floor's pairs/s
	AllocsPerPair float64 `json:"allocsPerPair"` // the most allocations that redlock makes for a pair
}

// There are many short repetitions. A disturbance of the machine lasts for seconds, so it affects few repetitions.
const (
	checkRounds = 13
	checkCell   = time.Second
)

// checkRegression measures redlock and the raw floor in turn, with 64 workers on five masters, and returns an error
// if the median of the repetitions is on the wrong side of a threshold.
func checkRegression(out io.Writer, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var limit threshold
	if err := json.Unmarshal(text, &limit); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if limit.FloorRatio <= 0 || limit.AllocsPerPair <= 0 {
		return fmt.Errorf("%s lacks a threshold: %+v", path, limit)
	}
	ratios, allocs, err := measureRatios()
	if err != nil {
		return err
	}
	return errors.Join(
		judge(out, "pairs/s against the floor", ratios, true, limit.FloorRatio),
		judge(out, "allocations a pair", allocs, false, limit.AllocsPerPair),
	)
}

// judge returns an error if the median of the repetitions is worse than the limit: below it if atLeast is set, and
// otherwise above it.
func judge(out io.Writer, what string, rounds []float64, atLeast bool, limit float64) error {
	median, wanted := workload.Quantile(rounds, .5), "at most"
	if atLeast {
		wanted = "at least"
	}
	line := fmt.Sprintf("%s: median %.3g of %d rounds of %v, which had %.3g to %.3g; wanted %s %v",
		what, median, len(rounds), checkCell, slices.Min(rounds), slices.Max(rounds), wanted, limit)
	if median != limit && median > limit != atLeast {
		return errors.New("REGRESSION: " + line)
	}
	fmt.Fprintln(out, "ok: "+line)
	return nil
}

// measureRatios returns two numbers for each repetition: redlock's pairs/s divided by the floor's, and redlock's
// allocations per pair. Redlock is measured first in every other repetition. A single failed call is an error,
// because a speed with errors in it means nothing.
func measureRatios() (ratios, allocs []float64, err error) {
	w := workload.Workload{Masters: 5, Workers: 64}
	masters, err := server.StartRedis(w.Masters, w.RoundTrip)
	if err != nil {
		return nil, nil, err
	}
	defer masters.Stop()
	contenders := []string{"redlock", "floor"}
	for range checkRounds {
		cells := map[string]workload.Cell{}
		for _, name := range contenders {
			cell, err := workload.Measure(w, contender.ByName(name), child.Self, masters, checkCell)
			if err := errors.Join(err, cell.Err()); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
			cells[name] = cell
		}
		slices.Reverse(contenders)
		ratios = append(ratios, cells["redlock"].PerSecond/cells["floor"].PerSecond)
		allocs = append(allocs, cells["redlock"].Allocs)
	}
	return ratios, allocs, nil
}
