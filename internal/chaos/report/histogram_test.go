package report

import (
	"strings"
	"testing"
)

func TestHistogramsAreDrawn(t *testing.T) {
	t.Parallel()
	text := written(t, Run{Buckets: []string{"up to 1ms", "1ms to 2ms", "more than 2ms"}, Histograms: []Histogram{
		{Name: "healthy: locks", Counts: []int{100, 100, 0}},
		{Name: "kill: <locks>", Counts: []int{5, 0, 5}, Beside: []int{100, 100, 0}},
	}})
	for _, want := range []string{
		`<figcaption>healthy: locks, 200 times</figcaption>`, `<figcaption>kill: &lt;locks&gt;, 10 times</figcaption>`,
		`<title>1ms to 2ms: 100 of 200</title>`, `<title>more than 2ms: 5 of 10; healthy: 0 of 200</title>`, `<title>1ms to 2ms: 0 of 10; healthy: 100 of 200</title>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if strings.Contains(text, "more than 2ms: 0 of 200") {
		t.Error("a bucket with nothing in it is drawn")
	}
	if text := written(t, Run{}); strings.Contains(text, "<figure") {
		t.Error("a histogram of nothing")
	}
}

func TestChart(t *testing.T) {
	t.Parallel()
	buckets := []string{"a", "b", "c"}
	for name, c := range map[string]struct {
		histogram Histogram
		want      [][3]int // left, height, height of the healthy ones
	}{
		"shares, not numbers":     {Histogram{Counts: []int{1, 1, 0}, Beside: []int{100, 100, 0}}, [][3]int{{0, 64, 64}, {12, 64, 64}}},
		"the highest of both":     {Histogram{Counts: []int{1, 1, 0}, Beside: []int{0, 0, 7}}, [][3]int{{0, 32, 0}, {12, 32, 0}, {24, 0, 64}}},
		"a single one is seen":    {Histogram{Counts: []int{9999, 0, 1}}, [][3]int{{0, 64, 0}, {24, 2, 0}}},
		"none beside":             {Histogram{Counts: []int{0, 3, 0}}, [][3]int{{12, 64, 0}}},
		"nothing but healthy":     {Histogram{Counts: []int{0, 0, 0}, Beside: []int{0, 4, 0}}, [][3]int{{12, 0, 64}}},
		"nothing":                 {Histogram{Counts: []int{0, 0, 0}}, nil},
		"nothing, beside nothing": {Histogram{Counts: []int{0, 0, 0}, Beside: []int{0, 0, 0}}, nil},
	} {
		var got [][3]int
		for _, b := range chartOf(c.histogram, buckets).Bars {
			got = append(got, [3]int{b.Left, b.Height, b.BesideHeight})
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
				break
			}
		}
	}
}
