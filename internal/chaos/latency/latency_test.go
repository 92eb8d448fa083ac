package latency

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

const ms = time.Millisecond

// told is a history under construction. Times are in milliseconds.
type told []history.Event

func (h *told) add(at time.Duration, e history.Event) {
	e.At = at * ms
	*h = append(*h, e)
}

func (h *told) phase(at time.Duration, name string) {
	h.add(at, history.Event{Kind: history.PhaseBegins, Phase: name})
}

func (h *told) fault(text string, from, to time.Duration) {
	h.add(from, history.Event{Kind: history.FaultBegins, Fault: text})
	h.add(to, history.Event{Kind: history.FaultEnds, Fault: text})
}

// locks is a hold that was asked for from one time to another, with a lease of 500 ms, and unlocked
// at left, if that is not 0. The token is its call too.
func (h *told) locks(client, name string, waits bool, token uint64, from, to, left time.Duration) {
	e := history.Event{Client: client, Call: int64(token), Name: name}
	e.Kind, e.Waits, e.Depth = history.LockBegins, waits, 1
	h.add(from, e)
	e.Kind, e.Token, e.Until = history.LockHeld, token, (to+500)*ms
	h.add(to, e)
	if left > 0 {
		e.Kind, e.Depth, e.Until = history.UnlockBegins, 0, 0
		h.add(left, e)
	}
}

// reads is locks of one that waits to read.
func (h *told) reads(client, name string, call int64, from, to, left time.Duration) {
	n := len(*h)
	h.locks(client, name, true, uint64(call), from, to, left)
	(*h)[n].Reads = true
	for i := n; i < len(*h); i++ {
		(*h)[i].Token = 0
	}
}

func (h *told) fails(client, name string, call int64, from, to time.Duration) {
	h.add(from, history.Event{Kind: history.LockBegins, Client: client, Call: call, Name: name, Depth: 1, Waits: true})
	h.add(to, history.Event{Kind: history.LockFailed, Client: client, Call: call, Name: name})
}

// of returns the times, a line for each class: locks, then hand-overs.
func (h told) of() string {
	slices.SortStableFunc(h, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	var lines []string
	times := Of(h, 5, func(name string) bool { return strings.HasPrefix(name, "probe") })
	for class, s := range times {
		lines = append(lines, fmt.Sprint(class, ": ", s.Lock, s.HandOver))
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

func TestOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tell func(h *told)
		want string
	}{
		"nothing": {func(*told) {}, ""},
		"locks": {func(h *told) {
			h.locks("c0", "probe0", false, 1, 10, 13, 14)
			h.locks("c0", "probe0", false, 2, 20, 25, 26)
			h.locks("c1", "probe1", false, 3, 20, 21, 22)
			h.locks("c1", "other", false, 4, 20, 29, 30)
		}, "healthy: [3ms 1ms 5ms] []"},
		"failures go on": {func(h *told) {
			h.fails("c0", "probe0", 1, 10, 20)
			h.fails("c0", "probe0", 2, 30, 40)
			h.locks("c0", "probe0", false, 3, 50, 53, 0)
			h.locks("c0", "probe0", false, 4, 60, 63, 0)
		}, "healthy: [43ms 3ms] []"},
		"a death ends them": {func(h *told) {
			h.fails("c0", "probe0", 1, 10, 20)
			h.add(30, history.Event{Kind: history.ClientKilled, Client: "c0"})
			h.locks("c0", "probe0", false, 3, 50, 53, 0)
		}, "healthy: [3ms] []"},
		"one of a minority": {func(h *told) {
			h.fault("kill(m0+m1,kept,1s)", 5, 40)
			h.locks("c0", "probe0", false, 1, 10, 13, 0)
		}, "kill of a minority: [3ms] []"},
		"one of a minority, and a member that the client does not name": {func(h *told) {
			h.add(1, history.Event{Kind: history.ClientStarts, Client: "c0", Masters: "m0+m1+m2+m3+m4"})
			h.add(1, history.Event{Kind: history.ClientStarts, Client: "c1", Masters: "m0+m1+m2+m3+m4+m5"})
			h.add(2, history.Event{Kind: history.Members, Masters: "m0+m1+m2+m3+m4+m5"})
			h.add(3, history.Event{Kind: history.ClientStarts, Client: "c0"})
			h.fault("kill(m0+m1,kept,1s)", 5, 40)
			h.locks("c0", "probe0", false, 1, 10, 13, 0)
			h.locks("c1", "probe1", false, 2, 10, 14, 0)
			h.locks("c2", "probe2", false, 3, 10, 15, 0)
		}, "kill of a minority: [4ms 5ms] []; kill of more: [3ms] []"},
		"a member that the client does not name, without a fault": {func(h *told) {
			h.add(1, history.Event{Kind: history.ClientStarts, Client: "c0", Masters: "m0+m1+m2"})
			h.add(2, history.Event{Kind: history.Members, Masters: "m0+m1+m2+m3+m4"})
			h.locks("c0", "probe0", false, 1, 10, 13, 0)
		}, "healthy: [3ms] []"},
		"a member that the client does not name, and that may have been added": {func(h *told) {
			h.add(1, history.Event{Kind: history.ClientStarts, Client: "c0", Masters: "m0+m1+m2+m3+m4"})
			h.fault("replace(m1,m5,0s,1s)", 2, 3)
			h.fault("kill(m0+m1,kept,1s)", 5, 40)
			h.locks("c0", "probe0", false, 1, 10, 13, 0)
			h.add(15, history.Event{Kind: history.Members, Masters: "m0+m1+m2+m3+m4"})
			h.locks("c0", "probe0", false, 2, 20, 24, 0)
		}, "kill of a minority: [4ms] []; kill of more: [3ms] []"},
		"two of a kind of a minority": {func(h *told) {
			h.fault("freeze(m0,1s)", 5, 12)
			h.fault("freeze(m0,1s)", 12, 40)
			h.locks("c0", "probe0", false, 1, 10, 13, 0)
		}, "freeze of a minority: [3ms] []"},
		"two of a kind of more": {func(h *told) {
			h.fault("freeze(m0+m1,1s)", 5, 40)
			h.fault("freeze(m2,1s)", 13, 40)
			h.locks("c0", "probe0", false, 1, 10, 13, 0)
		}, "freeze of more: [3ms] []"},
		"of clients": {func(h *told) {
			h.fault("kill-client(c1,1s)", 5, 40)
			h.locks("c0", "probe0", false, 1, 10, 13, 0)
		}, "kill-client: [3ms] []"},
		"of another program": {func(h *told) {
			h.fault("earthquake(1s)", 5, 40)
			h.locks("c0", "probe0", false, 1, 10, 13, 0)
		}, "earthquake: [3ms] []"},
		"two kinds": {func(h *told) {
			h.fault("kill(m0,kept,1s)", 5, 12)
			h.fault("freeze(m1,1s)", 12, 40)
			h.locks("c0", "probe0", false, 1, 10, 13, 0)
			h.locks("c0", "probe0", false, 2, 14, 15, 0)
		}, "freeze of a minority: [1ms] []"},
		"just over": {func(h *told) {
			h.fault("kill(m0,kept,1s)", 5, 8)
			h.locks("c0", "probe0", false, 1, 10, 13, 0)
			h.locks("c0", "probe0", false, 2, 1007, 1009, 0)
			h.locks("c0", "probe0", false, 3, 1009, 1010, 0)
		}, "healthy: [1ms] []"},
		"out of the model": {func(h *told) {
			h.locks("c0", "probe0", false, 1, 4999, 5001, 0)
			h.locks("c0", "probe0", false, 2, 6000, 6001, 0)
		}, ""},
		"a hand-over": {func(h *told) {
			h.locks("c0", "a", true, 1, 10, 13, 50)
			h.locks("c1", "a", true, 2, 20, 57, 70)
			h.locks("c2", "a", true, 3, 20, 71, 0)
		}, "healthy: [] [7ms 1ms]"},
		"a hand-over to a reader": {func(h *told) {
			h.locks("c0", "a", true, 1, 10, 13, 50)
			h.reads("c1", "a", 2, 20, 57, 70)
			h.reads("c2", "a", 3, 20, 58, 70)
		}, "healthy: [] [7ms]"},
		"no hand-overs from readers": {func(h *told) {
			h.reads("c0", "a", 1, 10, 13, 50)
			h.reads("c1", "a", 2, 10, 14, 55)
			h.locks("c2", "a", true, 3, 20, 57, 0)
			h.locks("c0", "b", true, 4, 10, 13, 50)
			h.add(20, history.Event{Kind: history.DowngradeBegins, Client: "c0", Call: 4, Name: "b", Token: 4})
			h.locks("c1", "b", true, 5, 20, 57, 0)
		}, ""},
		"no hand-overs": {func(h *told) {
			h.locks("c0", "a", true, 1, 10, 13, 50)
			h.locks("c1", "a", false, 2, 45, 57, 60) // it did not wait
			h.locks("c2", "a", true, 3, 61, 63, 64)  // it came later
			h.locks("c2", "b", true, 4, 10, 65, 0)   // another name
			h.fails("c1", "a", 5, 62, 66)            // it got nothing
			h.locks("c2", "c", true, 6, 10, 13, 514) // the lease was over
			h.locks("c1", "c", true, 7, 20, 515, 0)
			h.locks("c2", "d", true, 8, 10, 13, 0)
			h.locks("c1", "d", true, 9, 20, 530, 0) // nobody unlocked
		}, ""},
		"a hand-over of a hold that was renewed": {func(h *told) {
			h.locks("c0", "a", true, 1, 10, 13, 900)
			h.add(400, history.Event{Kind: history.Renewed, Client: "c0", Call: 1, Name: "a", Token: 1, Until: time.Second})
			h.locks("c1", "a", true, 2, 20, 903, 0)
		}, "healthy: [] [3ms]"},
		"a re-entry is none": {func(h *told) {
			h.locks("c0", "a", true, 1, 10, 13, 50)
			h.add(20, history.Event{Kind: history.LockBegins, Client: "c0", Call: 9, Name: "a", Depth: 2, Waits: true})
			h.add(30, history.Event{Kind: history.LockHeld, Client: "c0", Call: 9, Name: "a", Depth: 2, Token: 1, Until: 600 * ms})
			h.add(40, history.Event{Kind: history.UnlockBegins, Client: "c0", Call: 9, Name: "a", Depth: 1, Token: 1})
			h.locks("c1", "a", true, 2, 20, 55, 0)
		}, "healthy: [] [5ms]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h told
			h.phase(0, history.InModel)
			h.phase(5000, history.OutOfModel)
			c.tell(&h)
			if got := h.of(); got != c.want {
				t.Errorf("times %q, want %q", got, c.want)
			}
		})
	}
}

// same returns n times of d, the last of which are longer.
func same(n int, d time.Duration, last int, longer time.Duration) []time.Duration {
	times := slices.Repeat([]time.Duration{d}, n-last)
	return append(times, slices.Repeat([]time.Duration{longer}, last)...)
}

func TestSlow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		healthy, under []time.Duration
		hits           Hits
		slow           bool
	}{
		"as fast":            {same(100, 4*ms, 0, 0), same(100, 4*ms, 0, 0), Minority, false},
		"what is allowed":    {same(100, 4*ms, 0, 0), same(100, 106*ms, 0, 0), Minority, false},
		"too slow":           {same(100, 4*ms, 0, 0), same(100, 107*ms, 0, 0), Minority, true},
		"by chance":          {same(100, 4*ms, 0, 0), same(100, 4*ms, 5, time.Second), Minority, false},
		"not by chance":      {same(100, 4*ms, 0, 0), same(100, 4*ms, 6, time.Second), Minority, true},
		"by chance, of 1000": {same(100, 4*ms, 0, 0), same(1000, 4*ms, 22, time.Second), Minority, false},
		"not by chance, too": {same(100, 4*ms, 0, 0), same(1000, 4*ms, 23, time.Second), Minority, true},
		"slow when healthy":  {same(100, 4*ms, 2, 600*ms), same(100, time.Second, 0, 0), Minority, false},
		"more than minority": {same(100, 4*ms, 0, 0), same(100, time.Second, 0, 0), More, false},
		"of clients":         {same(100, 4*ms, 0, 0), same(100, time.Second, 0, 0), Nobody, false},
		"too few":            {same(100, 4*ms, 0, 0), same(99, time.Second, 0, 0), Minority, false},
		"too few healthy":    {same(99, 4*ms, 0, 0), same(100, time.Second, 0, 0), Minority, false},
	} {
		times := Times{Healthy: {Lock: c.healthy}, Class{"kill", c.hits}: {Lock: c.under}}
		if found := times.Slow(100 * ms); (len(found) == 1) != c.slow || len(found) > 1 {
			t.Errorf("%s: %q, want slow %t", name, found, c.slow)
		}
	}
	if found := (Times{Class{"kill", Minority}: {Lock: same(100, time.Second, 0, 0)}}).Slow(0); found != nil {
		t.Errorf("without a healthy time: %q", found)
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	times := Times{Class{"kill", Minority}: {HandOver: same(3, ms, 0, 0)}}
	times.Add(Times{Healthy: {Lock: same(100, ms, 3, 2*ms)}, Class{"kill", Minority}: {HandOver: same(1, 5*ms, 0, 0)}})
	want := [][]string{
		{"healthy", "100", "1.0 ms", "2.0 ms", "2.0 ms", "0", "", "", ""},
		{"kill of a minority", "0", "", "", "", "4", "1.0 ms", "5.0 ms", "5.0 ms"},
	}
	if got := times.Rows(); fmt.Sprint(got) != fmt.Sprint(want) || len(got[0]) != len(Head) {
		t.Errorf("rows %q, want %q", got, want)
	}
}
