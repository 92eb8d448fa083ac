package report

import (
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

func TestWhatIsDrawn(t *testing.T) {
	t.Parallel()
	const evil = `</title><script>alert("1")</script>`
	at := func(ms int, e history.Event) history.Event {
		e.At = time.Duration(ms) * time.Millisecond
		return e
	}
	var page strings.Builder
	err := Write(&page, Run{
		Title: evil, Command: evil, Figures: []Figure{{"holds", "2"}}, Violations: []string{"two held it"}, Moments: []time.Duration{2 * time.Second},
		Events: []history.Event{
			at(0, history.Event{Kind: history.PhaseBegins, Phase: history.InModel}),
			at(100, history.Event{Kind: history.FaultBegins, Fault: evil}),
			at(200, history.Event{Kind: history.MasterDown, Master: "m1", Lost: true}),
			at(300, history.Event{Kind: history.LockBegins, Client: "c0", Call: 1, Name: "a"}),
			at(400, history.Event{Kind: history.LockHeld, Client: "c0", Call: 1, Name: "a", Token: 7, Until: 900 * time.Millisecond}),
			at(500, history.Event{Kind: history.LockBegins, Client: "c0", Call: 2, Name: "b"}),
			at(600, history.Event{Kind: history.LockFailed, Client: "c0", Call: 2, Name: "b", Err: history.ErrHeld}),
			at(700, history.Event{Kind: history.FaultEnds, Fault: evil, Err: "no answer"}),
			at(950, history.Event{Kind: history.WriteEnds, Client: "c1", Store: history.Unguarded, Name: "a", Token: 8}),
			at(960, history.Event{Kind: history.WriteEnds, Client: "c0", Store: history.Unguarded, Name: "a", Token: 7}),
			at(970, history.Event{Kind: history.WriteEnds, Client: "c0", Store: history.RedisGuarded, Name: "a", Token: 7, Err: history.ErrRefused}),
			at(980, history.Event{Kind: history.Told, Client: "c0", Call: 1, Name: "a", Token: 7, Err: history.ErrExpired}),
			at(1000, history.Event{Kind: history.ClientKilled, Client: "c0"}),
			at(3000, history.Event{Kind: history.ClientStarts, Client: "c0"}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 violations", "<li>two held it</li>", `class="violation" x1="490"`, "holds <i>2</i>", ">in-model</text>",
		"from 0.100s to 0.700s, not applied: no answer", "down, data lost, from 0.200s to 3.000s",
		"asks for a, from 0.300s to 0.400s", "asks for b, from 0.500s to 0.600s: held",
		"<title>holds a 7, depth 0, from 0.400s to 1.000s</title>", `class="hold" x="170"`, ", after its lease</title>", `class="late" x="270"`,
		"stale write of a with token 7 taken", "write of a with token 7 refused", "is told: expired", "killed, from 1.000s to 3.000s",
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in the page", want)
		}
	}
	for _, bad := range []string{"<script", "http", "ZgotmplZ"} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("the page has %q in it", bad)
		}
	}
	page.Reset()
	if err := Write(&page, Run{}); err != nil || strings.Contains(page.String(), "<svg") || !strings.Contains(page.String(), "No violation") {
		t.Errorf("without events and violations: %v, %s", err, page.String())
	}
}
