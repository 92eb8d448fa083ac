package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/bench/internal/contender"
	"github.com/redlock-go/redlock/bench/internal/server"
	"github.com/redlock-go/redlock/bench/internal/stats"
	"github.com/redlock-go/redlock/bench/internal/workload"
)

func cell(perSecond float64) workload.Cell {
	q := stats.Quantiles{P50: time.Millisecond, P99: 2 * time.Millisecond, Max: time.Duration(perSecond) * time.Millisecond}
	return workload.Cell{PerSecond: perSecond, Pair: q, Wait: q, Handover: q, Allocs: 41, Evenness: .9, ClientCPU: time.Microsecond}
}

// everything has a cell of all contenders under all workloads, in three rounds.
func everything() *Report {
	r := New([]string{"-seconds", "1"}, time.Second, 3)
	for round := range 3 {
		for _, w := range workload.All() {
			for _, c := range contender.All {
				if w.Suits(c) {
					factor := 1.
					if c.Name == ours {
						factor = 6.5
					}
					r.Add(w, c.Name, cell(100*factor*float64(round+1)))
				}
			}
		}
	}
	r.NotRun("zookeeper", contenderGone{})
	return r
}

type contenderGone struct{}

func (contenderGone) Error() string { return "gone" }

func TestSummary(t *testing.T) {
	got := everything().Find(series, redsync).Summary
	if got.PerSecond != 200 || got.Wait.P50 != time.Millisecond || got.Wait.Max != 300*time.Millisecond {
		t.Errorf("want the median, and the max of max: %+v", got)
	}
}

func TestEveryAimCanBeJudged(t *testing.T) {
	verdicts := map[string]Aim{}
	for _, a := range everything().judge() {
		if !a.Known {
			t.Errorf("not measured by any workload: %s", a.Aim)
		}
		verdicts[a.Aim] = a
	}
	for aim, want := range map[string]bool{
		"64 workers, distinct names: pairs/s against redsync":  true,
		"512 workers: the same":                                false,
		"64 workers: allocations a pair":                       false,
		"64 contenders, hold 0s, one client: min/max of holds": true, // just
		"64 workers: client CPU a pair, us":                    true,
	} {
		if got, ok := verdicts[aim]; !ok || got.Met != want {
			t.Errorf("%s: met is %t, want %t: %+v", aim, got.Met, want, got)
		}
	}
	if got := verdicts["512 workers: the same"]; got.Measured != 6.5 || got.Low != 6.5 || got.High != 6.5 {
		t.Errorf("ratios must be those of one round: %+v", got)
	}
}

func TestEveryAimRestsOnKnownNames(t *testing.T) {
	for _, w := range []string{series, distinct, many, distinct + "-n1", series + "-hung", distinct + "-slow", distinct + "-dead", distinct + "-n9", workload.Waiting} {
		if !Needed(w, ours) {
			t.Errorf("no aim needs %s", w)
		}
	}
	if Needed("series-fsync", ours) || Needed(series+"-hung", redsync) || Needed(distinct, "etcd-1") || !Needed(distinct, redsync) {
		t.Error("-aims measures too much or too little")
	}
}

func TestAimWithFailedCallsIsNotMet(t *testing.T) {
	r := everything()
	w := workload.Workload{Name: distinct}
	failed := cell(1000)
	failed.Failed = 1
	r.Add(w, ours, failed)
	for _, a := range r.judge() {
		if a.Aim == "64 workers: client CPU a pair, us" && (a.Met || a.Failed != 1) {
			t.Errorf("%+v, want it not met", a)
		}
	}
}

func TestWhatCouldNotBeMeasuredIsAnError(t *testing.T) {
	r := New(nil, time.Second, 1)
	r.NotRun("zookeeper", fmt.Errorf("ZooKeeper: %w", server.ErrNotInstalled))
	if err := r.Err(); err != nil {
		t.Errorf("without what is not installed: %v", err)
	}
	r.NotRun("redsync, series", contenderGone{})
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "redsync, series: gone") {
		t.Errorf("Err = %v, want one that names the cell", err)
	}
}

func TestOutputs(t *testing.T) {
	r := everything()
	var text bytes.Buffer
	r.WriteTable(&text)
	r.WriteAims(&text)
	for _, want := range []string{"contended-64-procs-hold-1ms", "6.50", "NOT RUN: zookeeper: gone", "NOT MET"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in the tables", want)
		}
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "results.json")
	if err := r.WriteJSON(path); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(written, &back); err != nil || len(back.Results) != len(r.Results) || back.Command != "go run . -seconds 1" {
		t.Errorf("%d results of %q, %v", len(back.Results), back.Command, err)
	}
}
