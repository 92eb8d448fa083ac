// Package stats reduces what was measured to the figures of a table. All of it is pure.
package stats

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Quantiles of a set of durations. The zero value is that of none.
type Quantiles struct {
	P50 time.Duration `json:"p50"`
	P99 time.Duration `json:"p99"`
	Max time.Duration `json:"max"`
}

// QuantilesOf sorts d and takes its quantiles.
func QuantilesOf(d []time.Duration) Quantiles {
	if len(d) == 0 {
		return Quantiles{}
	}
	slices.Sort(d)
	return Quantiles{P50: nearestRank(d, .5), P99: nearestRank(d, .99), Max: d[len(d)-1]}
}

// nearestRank is the smallest element that at least the share q is not above.
func nearestRank[T any](sorted []T, q float64) T {
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

// Median of none is 0; of an even number, the mean of the middle two.
func Median[T cmp.Ordered](values []T, mean func(a, b T) T) T {
	var none T
	if len(values) == 0 {
		return none
	}
	s := slices.Sorted(slices.Values(values))
	if len(s)%2 == 1 {
		return s[len(s)/2]
	}
	return mean(s[len(s)/2-1], s[len(s)/2])
}

// MedianFloat is Median of numbers.
func MedianFloat(values []float64) float64 {
	return Median(values, func(a, b float64) float64 { return (a + b) / 2 })
}

// MedianDuration is Median of times.
func MedianDuration(values []time.Duration) time.Duration {
	return Median(values, func(a, b time.Duration) time.Duration { return (a + b) / 2 })
}

// Evenness is the smallest of counts over the largest: 1 when all got the same.
func Evenness(counts []int) float64 {
	if len(counts) == 0 || slices.Max(counts) == 0 {
		return 0
	}
	return float64(slices.Min(counts)) / float64(slices.Max(counts))
}

// Interval is a median with the bounds between which the true one lies.
type Interval struct{ Median, Low, High float64 }

// MedianInterval bounds the median of what values were drawn from by two of the values, with at
// least the confidence asked for (fewer than six values cannot reach 0.95: then it spans all). It
// assumes nothing about their distribution, so single rounds that the machine spoiled do not move
// it.
func MedianInterval(values []float64, confidence float64) Interval {
	s := slices.Sorted(slices.Values(values))
	n := len(s)
	if n == 0 {
		return Interval{}
	}
	// Leave out k values at each end for as long as the chance that the median is among those left
	// out stays small: each is above it with probability 1/2.
	k, tail, term := 0, 0.0, math.Pow(.5, float64(n))
	for ; k < (n-1)/2; k++ {
		if tail += term; 2*tail > 1-confidence {
			break
		}
		term *= float64(n-k) / float64(k+1)
	}
	return Interval{Median: MedianFloat(s), Low: s[max(k-1, 0)], High: s[n-1-max(k-1, 0)]}
}
