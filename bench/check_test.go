package main

import (
	"strings"
	"testing"
)

func TestCheckJudgesTheMedian(t *testing.T) {
	for _, c := range []struct {
		rounds []float64
		wanted bound
		limit  float64
		ok     bool
	}{
		{[]float64{.6, .71, .72}, atLeast, .7, true},
		{[]float64{.6, .7, .9}, atLeast, .7, true},
		{[]float64{.6, .69, .9}, atLeast, .7, false}, // within the interval, which reaches .9
		{[]float64{.1, .1, .1}, atLeast, 0, true},
		{[]float64{40, 41, 50}, atMost, 41, true},
		{[]float64{30, 42, 43}, atMost, 41, false},
	} {
		var out strings.Builder
		if err := judge(&out, "figure", c.rounds, c.wanted, c.limit); (err == nil) != c.ok {
			t.Errorf("%v, %s %v: %v, want ok %t", c.rounds, c.wanted, c.limit, err, c.ok)
		}
	}
}
