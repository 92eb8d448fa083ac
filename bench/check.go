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

// threshold is below what the check fails; threshold.json has it.
type threshold struct {
	FloorRatio    float64 `json:"floorRatio"`    // at least: pairs/s of redlock over the floor's
	AllocsPerPair float64 `json:"allocsPerPair"` // at most
}

// Many short rounds, since what spoils a measurement comes and goes in seconds.
const (
	checkRounds = 13
	checkCell   = time.Second
)

// checkRegression measures redlock and the raw floor in turn, 64 workers on five masters, and fails
// if the median of the rounds is on the wrong side of a threshold.
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
		judge(out, "pairs/s against the floor", ratios, atLeast, limit.FloorRatio),
		judge(out, "allocations a pair", allocs, atMost, limit.AllocsPerPair),
	)
}

// bound is on which side of a limit a figure must be.
type bound string

const (
	atLeast bound = "at least"
	atMost  bound = "at most"
)

// judge compares the median of the rounds with the limit.
func judge(out io.Writer, what string, rounds []float64, wanted bound, limit float64) error {
	median := workload.Quantile(rounds, .5)
	line := fmt.Sprintf("%s: median %.3g of %d rounds of %v, which had %.3g to %.3g; wanted %s %v",
		what, median, len(rounds), checkCell, slices.Min(rounds), slices.Max(rounds), wanted, limit)
	if wanted == atLeast && median < limit || wanted == atMost && median > limit {
		return errors.New("REGRESSION: " + line)
	}
	fmt.Fprintln(out, "ok: "+line)
	return nil
}

// measureRatios measures round by round redlock's pairs/s over those of the floor, and its
// allocations a pair. The two take turns in being first.
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
			if cells[name], err = measureSound(w, name, masters); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		slices.Reverse(contenders)
		ratios = append(ratios, cells["redlock"].PerSecond/cells["floor"].PerSecond)
		allocs = append(allocs, cells["redlock"].Allocs)
	}
	return ratios, allocs, nil
}

// measureSound fails if a single call did: a speed with errors in it says nothing.
func measureSound(w workload.Workload, name string, masters *server.Running) (workload.Cell, error) {
	cell, err := workload.Measure(w, contender.ByName(name), child.Self, masters, checkCell)
	if err == nil && cell.Failed > 0 {
		err = fmt.Errorf("%d calls failed, the first: %s", cell.Failed, cell.FirstErr)
	}
	return cell, err
}
