//go:build unix

package run

import (
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/fault"
	"github.com/redlock-go/redlock/internal/chaos/history"
)

func TestUnserved(t *testing.T) {
	t.Parallel()
	locked := func(client string, at time.Duration) history.Event {
		return history.Event{At: at * time.Second, Kind: history.LockHeld, Client: client}
	}
	events := []history.Event{
		{At: time.Second, Kind: history.PhaseBegins, Phase: history.InModel},
		locked("c0", 2), locked("c1", 3), locked("c2", 4), locked("c3", 4),
		{At: 9 * time.Second, Kind: history.PhaseBegins, Phase: history.Healed},
		locked("c1", 10),
	}
	for _, c := range []struct {
		clients  fault.Clients
		from, to time.Duration
		who      string
	}{
		{fault.All, 0, 3, ""},
		{fault.All, 0, 2, "c2 c3"},
		{fault.All, 2, 3, "c0"},
		{"c0", 2, 3, "c0"},
		{"c0+c1", 3, 8, "c0 c1"},
		{"c1", 3, 9, ""},
	} {
		var who []string
		for _, v := range unserved(events, []Service{{c.clients, c.from * time.Second, c.to * time.Second}}) {
			client, _, _ := strings.Cut(v.Text, " ")
			who = append(who, client)
			if v.Rule != Unserved || v.At != (1+c.to)*time.Second {
				t.Errorf("%v", v)
			}
		}
		if got := strings.Join(who, " "); got != c.who {
			t.Errorf("%s from %v to %v: %q were not served, want %q", c.clients, c.from, c.to, got, c.who)
		}
	}
}
