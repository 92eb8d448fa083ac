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
	FloorRatio      float64 `json:"floorRatio"`      // at least: pairs/s of redlock over floor-group's
	BatchFloorRatio float64 `json:"batchFloorRatio"` // at least: the same over floor-batch's
	AllocsPerPair   float64 `json:"allocsPerPair"`   // at most
}

// Many short rounds, since what spoils a measurement comes and goes in seconds.
const (
	checkRounds     = 13
	checkCell       = time.Second
	checkConfidence = .95
)

// checkRegression measures redlock and the raw floors in turn, 64 workers on five masters, and
// fails if the median of the rounds is on the wrong side of a threshold.
func checkRegression(out io.Writer, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var limit threshold
	if err := json.Unmarshal(text, &limit); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	measured, err := measureRatios()
	if err != nil {
		return err
	}
	return errors.Join(
		judge(out, "pairs/s against floor-group", measured.floor, atLeast, limit.FloorRatio),
		judge(out, "pairs/s against floor-batch", measured.batchFloor, atLeast, limit.BatchFloorRatio),
		judge(out, "allocations a pair", measured.allocs, atMost, limit.AllocsPerPair),
	)
}

// bound is on which side of a limit a figure must be.
type bound string

const (
	atLeast bound = "at least"
	atMost  bound = "at most"
)

func (b bound) keeps(value, limit float64) bool {
	if b == atLeast {
		return value >= limit
	}
	return value <= limit
}

// judge compares the median of the rounds with the limit. It also prints between what values the
// true median lies, by the rounds.
func judge(out io.Writer, what string, rounds []float64, wanted bound, limit float64) error {
	i := stats.MedianInterval(rounds, checkConfidence)
	line := fmt.Sprintf("%s: median %.3g, between %.3g and %.3g with confidence %v (%d rounds of %v); wanted %s %v",
		what, i.Median, i.Low, i.High, checkConfidence, len(rounds), checkCell, wanted, limit)
	if !wanted.keeps(i.Median, limit) {
		return errors.New("REGRESSION: " + line)
	}
	fmt.Fprintln(out, "ok: "+line)
	return nil
}

// ratios are redlock's pairs/s over those of the floors, and its allocations a pair, of each round.
type ratios struct{ floor, batchFloor, allocs []float64 }

// measureRatios measures round by round. The contenders take turns in being first.
func measureRatios() (all ratios, err error) {
	w := workload.Workload{Name: "check", Workers: 64, Redis: server.RedisConfig{Masters: 5}}
	masters, err := server.StartRedis(w.Redis)
	if err != nil {
		return all, err
	}
	defer masters.Stop()
	contenders := []string{"redlock", "floor-group", "floor-batch"}
	for round := range checkRounds {
		cells := map[string]workload.Cell{}
		for k := range contenders {
			name := contenders[(k+round)%len(contenders)]
			if cells[name], err = measureSound(w, contender.ByName(name), masters); err != nil {
				return all, fmt.Errorf("%s: %w", name, err)
			}
		}
		all.floor = append(all.floor, cells["redlock"].PerSecond/cells["floor-group"].PerSecond)
		all.batchFloor = append(all.batchFloor, cells["redlock"].PerSecond/cells["floor-batch"].PerSecond)
		all.allocs = append(all.allocs, cells["redlock"].Allocs)
	}
	return all, nil
}

// measureSound fails if a single call did: a speed with errors in it says nothing.
func measureSound(w workload.Workload, c contender.Contender, masters *server.Running) (workload.Cell, error) {
	cell, err := workload.Measure(w, c, reexec.Self, masters, checkCell)
	if err == nil && cell.Failed > 0 {
		err = fmt.Errorf("%d calls failed, the first: %s", cell.Failed, cell.FirstErr)
	}
	return cell, err
}
