package latency

import (
	"slices"
	"testing"
	"time"
)

func TestCounted(t *testing.T) {
	t.Parallel()
	names := Buckets()
	for d, want := range map[time.Duration]string{
		0:                      "up to 250µs",
		250 * time.Microsecond: "up to 250µs",
		251 * time.Microsecond: "250µs to 500µs",
		ms:                     "500µs to 1ms",
		ms + 1:                 "1ms to 2ms",
		100 * ms:               "64ms to 128ms",
		8192 * ms:              "4.096s to 8.192s",
		8193 * ms:              "more than 8.192s",
		time.Hour:              "more than 8.192s",
	} {
		counts := counted([]time.Duration{d, d})
		if i := slices.Index(counts, 2); i < 0 || len(counts) != len(names) || names[i] != want {
			t.Errorf("%v is counted %v, want it to be %s of %q", d, counts, want, names)
		}
	}
}

func TestHistograms(t *testing.T) {
	t.Parallel()
	kill := Class{"kill", Minority}
	all := Times{kill: {Lock: same(3, ms, 1, 5*ms)}, Healthy: {Lock: same(2, ms, 0, 0), HandOver: same(4, 2*ms, 0, 0)}}.Histograms()
	if len(all) != 2 || all[0].Class != Healthy || all[1].Class != kill {
		t.Fatalf("%+v, want those of the healthy times first", all)
	}
	for what, c := range map[string]struct {
		counts []int
		want   map[int]int // by bucket
	}{
		"healthy locks":      {all[0].Lock, map[int]int{2: 2}},
		"healthy hand-overs": {all[0].HandOver, map[int]int{3: 4}},
		"locks":              {all[1].Lock, map[int]int{2: 2, 5: 1}},
		"hand-overs":         {all[1].HandOver, nil},
	} {
		for i, n := range c.counts {
			if n != c.want[i] {
				t.Errorf("%s: %v, want %v", what, c.counts, c.want)
				break
			}
		}
	}
}
