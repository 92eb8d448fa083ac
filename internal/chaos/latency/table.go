package latency

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Head is that of the rows of a table.
var Head = []string{"faults under way", "locks", "p50", "p99", "max", "hand-overs", "p50", "p99", "max"}

// Rows returns a row for each class, the healthy one first, and then by name.
func (t Times) Rows() (rows [][]string) {
	for _, class := range t.classes() {
		rows = append(rows, slices.Concat([]string{class.String()}, cells(t[class].Lock), cells(t[class].HandOver)))
	}
	return rows
}

func (t Times) classes() []Class {
	return slices.SortedFunc(maps.Keys(t), func(a, b Class) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Hits, b.Hits))
	})
}

func cells(times []time.Duration) []string {
	if len(times) == 0 {
		return []string{"0", "", "", ""}
	}
	row := []string{fmt.Sprint(len(times))}
	for _, share := range []float64{0.5, 0.99, 1} {
		row = append(row, milliseconds(Quantile(times, share)))
	}
	return row
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// Quantile returns the least of the times that is not below so large a share of them, which are at
// least one.
func Quantile(times []time.Duration, share float64) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	return sorted[max(int(math.Ceil(share*float64(len(sorted)))), 1)-1]
}

// Rule is the name of what Slow finds.
const Rule = "latency"

// enough is how many times a class must have before it is judged, and before others are judged by
// it.
const enough = 100

// Slow returns a sentence for each kind of faults of a minority of masters that raised the 99th
// percentile of the lock times above one and a half of the healthy one and a request timeout. It
// judges only what has 100 times, and allows for chance: of n times of which one in a hundred is
// slow, n/100 are, more or less, and not more than four standard deviations above that (of a
// Poisson distribution, so 5 of 100, 8 of 200, 22 of 1000).
func (t Times) Slow(requestTimeout time.Duration) (found []string) {
	if t[Healthy] == nil || len(t[Healthy].Lock) < enough {
		return nil
	}
	healthy := Quantile(t[Healthy].Lock, 0.99)
	allowed := healthy*3/2 + requestTimeout
	for _, class := range t.classes() {
		times := t[class].Lock
		if class.Hits != Minority || len(times) < enough {
			continue
		}
		slow := 0
		for _, d := range times {
			if d > allowed {
				slow++
			}
		}
		if expected := float64(len(times)) / 100; float64(slow) > expected+4*math.Sqrt(expected) {
			found = append(found, fmt.Sprintf("under %s, %d of %d lock times are above %s, and the 99th percentile is %s; with no fault it is %s",
				class, slow, len(times), milliseconds(allowed), milliseconds(Quantile(times, 0.99)), milliseconds(healthy)))
		}
	}
	return found
}
