package report

import (
	"fmt"
	"slices"
)

// Histogram is how many times there are in each bucket of Run.Buckets.
type Histogram struct {
	Name   string
	Counts []int
	Beside []int // of the healthy times, which are drawn behind; nil: there are none
}

// bar is a bucket of a histogram as it is drawn, in the units of chart.
type bar struct {
	Left, Height, BesideHeight int
	Title                      string
}

// The chart of a histogram: so much is for each bucket, and for the highest bar.
const (
	barWidth    = 12
	chartHeight = 64
)

// chart is a histogram as it is drawn.
type chart struct {
	Name           string
	Width, Height  int
	Bars           []bar
	First, Last    string // the buckets at both ends
	Total, Healthy int
}

// chartOf draws shares, since there are more healthy times than others. The highest bar of both is
// as high as the chart, and a bucket that has a single time is seen.
func chartOf(h Histogram, buckets []string) chart {
	c := chart{
		Name: h.Name, Width: barWidth * len(buckets), Height: chartHeight, First: buckets[0], Last: buckets[len(buckets)-1],
		Total: sum(h.Counts), Healthy: sum(h.Beside),
	}
	highest := max(share(slices.Max(h.Counts), c.Total), share(slices.Max(append([]int{0}, h.Beside...)), c.Healthy))
	for i, name := range buckets {
		b := bar{Left: barWidth * i, Height: height(h.Counts[i], c.Total, highest), Title: fmt.Sprintf("%s: %d of %d", name, h.Counts[i], c.Total)}
		if c.Healthy > 0 {
			b.BesideHeight = height(h.Beside[i], c.Healthy, highest)
			b.Title += fmt.Sprintf("; healthy: %d of %d", h.Beside[i], c.Healthy)
		}
		if b.Height+b.BesideHeight > 0 {
			c.Bars = append(c.Bars, b)
		}
	}
	return c
}

func height(n, of int, highest float64) int {
	if n == 0 {
		return 0
	}
	return max(2, int(chartHeight*share(n, of)/highest+.5))
}

func share(n, of int) float64 { return float64(n) / float64(max(of, 1)) }

func sum(counts []int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}
