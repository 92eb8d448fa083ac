package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/reexec"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/stats"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

// threshold is below what the check fails; threshold.json has it.
type threshold struct {
	FloorRatio    float64 `json:"floorRatio"`    // at least: pairs/s of redlock over the group-committed raw floor's
	AllocsPerPair float64 `json:"allocsPerPair"` // at most
}

// Many short rounds, since what spoils a measurement comes and goes in seconds.
const (
	checkRounds     = 15
	checkCell       = time.Second
	checkConfidence = .95
)

// checkRegression measures redlock and the raw floor in turn, 64 workers on five
// masters. It fails only if the interval in which the figure lies, by the rounds,
// is wholly on the wrong side of the threshold: noise makes the interval wide, and
// a regression moves it.
func checkRegression(out io.Writer, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var limit threshold
	if err := json.Unmarshal(text, &limit); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	ratios, allocs, err := measureFloorRatio()
	if err != nil {
		return err
	}
	ratio := stats.MedianInterval(ratios, checkConfidence)
	alloc := stats.MedianInterval(allocs, checkConfidence)
	return errors.Join(
		judge(out, "pairs/s against the raw floor", ratio, ratio.High >= limit.FloorRatio, fmt.Sprintf("at least %v", limit.FloorRatio)),
		judge(out, "allocations a pair", alloc, alloc.Low <= limit.AllocsPerPair, fmt.Sprintf("at most %v", limit.AllocsPerPair)),
	)
}

func judge(out io.Writer, what string, i stats.Interval, ok bool, wanted string) error {
	line := fmt.Sprintf("%s: median %.3g, between %.3g and %.3g with confidence %v (%d rounds of %v); wanted %s",
		what, i.Median, i.Low, i.High, checkConfidence, checkRounds, checkCell, wanted)
	if !ok {
		return errors.New("REGRESSION: " + line)
	}
	fmt.Fprintln(out, "ok: "+line)
	return nil
}

// measureFloorRatio returns the ratio and the allocations of each round. The two
// take turns in being first.
func measureFloorRatio() (ratios, allocs []float64, err error) {
	w := workload.Workload{Name: "check", Workers: 64, Redis: server.RedisConfig{Masters: 5}}
	masters, err := server.StartRedis(w.Redis)
	if err != nil {
		return nil, nil, err
	}
	defer masters.Stop()
	pair := []contender.Contender{contender.ByName("redlock"), contender.ByName("floor-group")}
	for round := range checkRounds {
		var cells [2]workload.Cell
		for k := range pair {
			i := (k + round) % 2
			if cells[i], err = workload.Measure(w, pair[i], reexec.Self, masters, checkCell); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", pair[i].Name, err)
			}
		}
		ratios = append(ratios, cells[0].PerSecond/cells[1].PerSecond)
		allocs = append(allocs, cells[0].Allocs)
	}
	return ratios, allocs, nil
}
