package membership

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A quarantine has lasted for as long as a quorum has known the version. Longer times of a minority do not count,
// because its clocks may have been set. Nor do members at another version. The order of the members does not matter.
func TestQuorumKnownFor(t *testing.T) {
	t.Parallel()
	const none, other = -time.Second, -1
	for _, x := range []struct {
		known  []time.Duration // by member; other: the member is at another version
		quorum int             // the quorum of a table of 2*quorum - 1 members
		want   time.Duration   // none: no quorum has reported
	}{
		{[]time.Duration{7}, 1, 7},
		{[]time.Duration{0}, 1, 0},
		{[]time.Duration{other}, 1, none},
		{[]time.Duration{7}, 2, none},
		{[]time.Duration{7, 3}, 2, 3},
		{[]time.Duration{7, other}, 2, none},
		{[]time.Duration{7, 3, 5}, 2, 5},
		{[]time.Duration{7, other, 5}, 2, 5},
		{[]time.Duration{1000, 5, 5}, 2, 5},    // one clock was set forward
		{[]time.Duration{1000, 1000, 5}, 3, 5}, // two clocks of five were set forward
		{[]time.Duration{1000, 1000, 5, 6, 7}, 3, 7},
		{[]time.Duration{9, 1, 8, 2, 7}, 3, 7},
	} {
		for first := range x.known {
			order := append(slices.Clone(x.known[first:]), x.known[:first]...)
			v := &View{Deployment: "d", Version: "1", Table: table("a b c d e")}
			v.Table.Members = v.Table.Members[:max(2*x.quorum-1, len(x.known))]
			var reports []*report
			for i, known := range order {
				r := at(v.Table.Members[i].ID, "1", nil)
				r.learned, r.known = true, known
				if known == other {
					r.version = "2"
				}
				reports = append(reports, r)
			}
			left, _, known := worldOf(v, nil, nil, reports).quarantine()
			if known != (x.want != none) || known && v.Table.Quarantine()-left != x.want || !known && left != v.Table.Quarantine() {
				t.Errorf("known for %v, a quorum of %d: %v left, %v", order, x.quorum, left, known)
			}
		}
	}
	// The client's clock only decides when to look again.
	r := at("a", "1", nil)
	r.learned, r.asked = true, 1000
	w := worldOf(&View{Deployment: "d", Version: "1", Table: table("a")}, nil, nil, []*report{r})
	w.now = r.asked.Add(time.Hour)
	if left, estimate, _ := w.quarantine(); left != w.view.Table.Quarantine() || estimate != time.Millisecond {
		t.Errorf("an hour later %v are left, and it may be over in %v", left, estimate)
	}
}

func digits(numbers []int) string {
	var all strings.Builder
	for _, n := range numbers {
		all.WriteByte('0' + byte(n))
	}
	return all.String()
}
