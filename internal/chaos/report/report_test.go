package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// sample is the run that the tests draw.
func sample(events int) Run {
	return Run{
		Title: "Chaos: all faults", Started: time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC), Seed: 42,
		Command: "go test -run Chaos . -chaos.seed=42",
		Events:  newStory(events),
		Figures: []Figure{{"operations", "10 412"}, {"faults", "48"}, {"overlaps provoked", "37"}, {"stale writes refused", "31"}, {"unfenced writes lost", "24"}, {"longest wait", "2.91 s"}},
	}
}

func written(t *testing.T, r Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var embedded = regexp.MustCompile(`(?s)<script type="application/json" id="timeline">(.*?)</script>`)

// What comes from outside is text wherever it appears.
func TestWriteEscapes(t *testing.T) {
	t.Parallel()
	const evil = `</script><script>alert("1")</script><!--`
	text := written(t, Run{
		Title: evil, Command: evil, Figures: []Figure{{evil, evil}}, Violations: []string{evil}, Head: []string{evil}, Rows: [][]string{{evil, evil}},
		Events: []history.Event{
			{Kind: history.LockBegins, Client: evil, Call: 1, Name: evil},
			{At: 5, Kind: history.FaultBegins, Fault: evil},
		},
	})
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "<!--") {
		t.Error("a name got out of its place")
	}
	var line timeline
	if err := json.Unmarshal([]byte(embedded.FindStringSubmatch(text)[1]), &line); err != nil {
		t.Fatal(err)
	}
	if line.Lanes[0].Spans[0].Text != evil || line.Lanes[1].Name != evil {
		t.Errorf("the name is not what it was: %+v", line.Lanes)
	}
}

// The file needs nothing from anywhere else: it has its style, its program and its events in it.
func TestWriteSelfContained(t *testing.T) {
	t.Parallel()
	text := written(t, sample(100))
	for _, part := range []string{`(?s)<style>.+</style>`, `(?s)<script>.+</script>`, `<canvas id="lanes"`, `</html>\s*$`} {
		if !regexp.MustCompile(part).MatchString(text) {
			t.Errorf("the page has nothing like %s in it", part)
		}
	}
	if events := embedded.FindStringSubmatch(text); events == nil || len(events[1]) < 100 {
		t.Errorf("the page does not have its events in it: %q", events)
	}
	for _, bad := range []string{"http://", "https://", "src=", "<link", "@import", "ZgotmplZ"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
}

// What is orange is not a fault of the lock: the legend says whose it is.
func TestWrongWritesAreTheUnguardedStores(t *testing.T) {
	t.Parallel()
	text := written(t, sample(100))
	for _, want := range []string{`["unfenced", "wrong write, taken by the unguarded store"]`, "to the unguarded store: it takes everything"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for n, want := range []string{"No violation", "1 violation<", "2 violations<"} {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("two holders of lock %d", i))
		}
		text := written(t, Run{Violations: all})
		if !strings.Contains(text, want) || strings.Contains(text, `class="good"`) != (n == 0) {
			t.Errorf("%d violations: no %q, or the wrong color", n, want)
		}
		for _, v := range all {
			if !strings.Contains(text, "<li>"+v) {
				t.Errorf("%q is not listed", v)
			}
		}
	}
}

func TestTimesAreATable(t *testing.T) {
	t.Parallel()
	text := written(t, Run{Head: []string{"faults", "p50"}, Rows: [][]string{{"kill", "3.1 ms"}, {"freeze", "4.2 ms"}}})
	for _, want := range []string{`<th scope="col">p50</th>`, `<tr><th scope="row">kill</th><td>3.1 ms</td></tr>`, `<tr><th scope="row">freeze</th><td>4.2 ms</td></tr>`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if text := written(t, Run{Head: []string{"faults"}}); strings.Contains(text, "<table") {
		t.Error("a table without rows")
	}
}

// That of several rounds together tells no events.
func TestNoTimelineWithoutEvents(t *testing.T) {
	t.Parallel()
	for _, has := range []string{"<main>", `<canvas id="lanes"`, `id="timeline"`, "events <i>", `id="legend"`} {
		if text := written(t, sample(100)); !strings.Contains(text, has) {
			t.Errorf("no %s with events", has)
		}
		if text := written(t, Run{}); strings.Contains(text, has) {
			t.Errorf("%s without events", has)
		}
	}
}

func TestTenThousandEvents(t *testing.T) {
	t.Parallel()
	r := sample(10_000)
	if n := len(r.Events); n < 10_000 {
		t.Fatalf("%d events", n)
	}
	began := time.Now()
	text := written(t, r)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	const pageSize, eventSize = 56 << 10, 80 // bytes; measured: 44 KB, and 67 for each event
	empty := len(written(t, Run{Events: r.Events[:1]}))
	if empty > pageSize {
		t.Errorf("%d bytes without an event", empty)
	}
	if each := (len(text) - empty) / len(r.Events); each > eventSize {
		t.Errorf("%d bytes for each of %d events", each, len(r.Events))
	}
	t.Logf("%d events: %d bytes, %d without them", len(r.Events), len(text), empty)
}
