package latency

import (
	"fmt"
	"time"
)

// Histogram is how many times of a class are in each bucket.
type Histogram struct {
	Class          Class
	Lock, HandOver []int
}

// The buckets double from the shortest on, since times of interest are from below a millisecond to
// seconds. The last one has all that are longer than the one before it.
const (
	shortest = 250 * time.Microsecond
	buckets  = 17
)

// Buckets are the names of the buckets.
func Buckets() []string {
	names := []string{"up to " + shortest.String()}
	for i := range buckets - 2 {
		names = append(names, fmt.Sprintf("%v to %v", shortest<<i, shortest<<(i+1)))
	}
	return append(names, fmt.Sprintf("more than %v", shortest<<(buckets-2)))
}

// Histograms returns one for each class, in the order of Rows.
func (t Times) Histograms() (all []Histogram) {
	for _, class := range t.classes() {
		all = append(all, Histogram{class, counted(t[class].Lock), counted(t[class].HandOver)})
	}
	return all
}

// counted returns how many of the times are in each bucket. A time at the edge of two is in the
// shorter one.
func counted(times []time.Duration) []int {
	counts := make([]int, buckets)
	for _, d := range times {
		i := 0
		for i < buckets-1 && d > shortest<<i {
			i++
		}
		counts[i]++
	}
	return counts
}
