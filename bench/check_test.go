package main

import (
	"strings"
	"testing"

	"github.com/redlock-go/redlock/bench/internal/workload"
)

func TestJudgeUsesMedian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rounds  []float64
		atLeast bool
		limit   float64
		ok      bool
	}{
		{[]float64{.6, .71, .72}, true, .7, true},
		{[]float64{.6, .7, .9}, true, .7, true},
		{[]float64{.6, .69, .9}, true, .7, false}, // although one round was above the limit
		{[]float64{40, 41, 50}, false, 41, true},
		{[]float64{30, 42, 43}, false, 41, false},
	} {
		var out strings.Builder
		if err := judge(&out, "figure", c.rounds, c.atLeast, c.limit); (err == nil) != c.ok {
			t.Errorf("%v, at least %t, %v: %v, want ok %t", c.rounds, c.atLeast, c.limit, err, c.ok)
		}
	}
}

func TestCellErr(t *testing.T) {
	t.Parallel()
	if err := (workload.Cell{Failed: 1, FirstErr: "refused"}).Err(); err == nil || !strings.Contains(err.Error(), "1 calls failed, the first: refused") {
		t.Errorf("a cell in which a call failed: %v", err)
	}
	if err := (workload.Cell{}).Err(); err != nil {
		t.Error(err)
	}
}
