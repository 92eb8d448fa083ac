package stats

import (
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	var hundred []time.Duration
	for i := 100; i > 0; i-- {
		hundred = append(hundred, time.Duration(i))
	}
	for _, c := range []struct {
		in   []time.Duration
		want Quantiles
	}{
		{nil, Quantiles{}},
		{[]time.Duration{7}, Quantiles{7, 7, 7}},
		{[]time.Duration{2, 1}, Quantiles{1, 2, 2}},
		{hundred, Quantiles{50, 99, 100}},
	} {
		if got := QuantilesOf(c.in); got != c.want {
			t.Errorf("of %v: %v, want %v", c.in, got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		in   []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 100, 2}, 3}} {
		if got := MedianFloat(c.in); got != c.want {
			t.Errorf("of %v: %v, want %v", c.in, got, c.want)
		}
	}
	if got := MedianDuration([]time.Duration{4, 2}); got != 3 {
		t.Errorf("of times: %v", got)
	}
}

func TestEvenness(t *testing.T) {
	for _, c := range []struct {
		in   []int
		want float64
	}{{nil, 0}, {[]int{0, 0}, 0}, {[]int{5, 5}, 1}, {[]int{1, 4, 2}, .25}, {[]int{0, 4}, 0}} {
		if got := Evenness(c.in); got != c.want {
			t.Errorf("of %v: %v, want %v", c.in, got, c.want)
		}
	}
}

func TestMedianInterval(t *testing.T) {
	var values []float64
	for i := range 12 {
		values = append(values, float64(12-i))
	}
	// The tables of the sign test: with 12 values, the third from either end.
	if got, want := MedianInterval(values, .95), (Interval{6.5, 3, 10}); got != want {
		t.Errorf("of 1 to 12: %v, want %v", got, want)
	}
	values[0] = 1e9 // a spoiled round
	if got := MedianInterval(values, .95); got.High > 11 {
		t.Errorf("one outlier moved the bound to %v", got)
	}
	if got, want := MedianInterval([]float64{2, 1, 3}, .95), (Interval{2, 1, 3}); got != want {
		t.Errorf("of three: %v, want %v", got, want)
	}
	if got := MedianInterval(nil, .95); got != (Interval{}) {
		t.Errorf("of none: %v", got)
	}
}
