package membership

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/clock"
	"github.com/redlock-go/redlock/internal/master"
	"github.com/redlock-go/redlock/internal/script"
)

// If two masters lead to one server, the first master counts as the member. The other master becomes the member
// only when votes that came from the first master no longer count.
func TestMasterOfMember(t *testing.T) {
	t.Parallel()
	lease := table("a").Quarantine()
	for _, known := range []bool{false, true} { // if the deployment's max ttl is not known, the client's max ttl counts
		now := clock.Instant(1)
		g := NewGroup(Config{Now: func() clock.Instant { return now }, MaxTTL: lease})
		g.Masters = []*master.Master{{}, {}, {}}
		if known {
			g.MaxTTL = 2 * lease
			g.view.Store(&View{Table: table("a")})
		}
		for i, step := range []struct {
			after  time.Duration
			master int
			id     string
			want   string // the masters of the members a, b and c, as far as these were seen; "-": no master any more
		}{
			{0, 0, "a", "0"},
			{0, 1, "a", "0"},
			{0, 1, "b", "01"},
			{2 * lease, 1, "a", "0-"},
			{0, 0, "c", "--0"},
			{lease, 1, "a", "--0"}, // a moment too soon
			{0, 0, "a", "0--"},     // master 0 was this member before
			{lease, 0, "c", "--0"},
			{lease, 2, "a", "--0"}, // a moment too soon
			{1, 2, "a", "2-0"},
			{lease, 2, "a", "2-0"},
		} {
			now = now.Add(step.after)
			g.bind(step.master, step.id)
			got := ""
			for _, id := range []string{"a", "b", "c"} {
				if b, is := g.bound[id]; !is {
					continue
				} else if b.left != 0 {
					got += "-"
				} else {
					got += fmt.Sprint(b.index)
				}
			}
			if got != step.want {
				t.Errorf("known %v, step %d: the masters are %s, want %s", known, i+1, got, step.want)
			}
		}
	}
}

// A counter that is not a number, or is out of range, is refused.
func TestReadCounters(t *testing.T) {
	t.Parallel()
	reply := slices.Repeat([]string{"7"}, script.Buckets)
	most := fmt.Sprint(int64(script.MaxCounter))
	for _, x := range []struct {
		last  string
		least int64
		ok    bool
	}{
		{"7", 1, true}, {"1", 1, true}, {"0", 1, false}, {"0", 0, true}, {"-1", 0, false}, {most, 1, true}, {most + "0", 1, false},
		{fmt.Sprint(int64(script.MaxCounter) + 1), 1, false}, {"", 0, false}, {"x", 0, false}, {"7.5", 0, false},
	} {
		reply[len(reply)-1] = x.last
		got, err := parseCounters(reply, x.least)
		if (err == nil) != x.ok || x.ok && (len(got) != script.Buckets || fmt.Sprint(got[len(got)-1]) != x.last || got[0] != 7) {
			t.Errorf("%q, at least %d: %v", x.last, x.least, err)
		}
	}
	if _, err := parseCounters(reply[1:], 0); err == nil {
		t.Error("one less than there are")
	}
}
