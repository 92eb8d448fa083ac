package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// picture writes lanes as lines: spans as "kind from-to", marks as "kind@at", in microseconds, with
// the row where it is not the first.
func picture(lanes []lane) string {
	var all []string
	row := func(n int) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprintf("/%d", n)
	}
	for _, l := range lanes {
		parts := []string{l.Name + ":"}
		for _, s := range l.Spans {
			text := fmt.Sprintf("%s%s %d-%d", s.Kind, row(s.Row), s.From, s.To)
			if s.Rival != "" {
				text += " " + s.Rival
			}
			if s.Lost {
				text += " lost"
			}
			if s.Kind == faultSpan && s.Err != "" {
				text += " (" + s.Err + ")"
			}
			parts = append(parts, text+",")
		}
		for _, m := range l.Marks {
			parts = append(parts, fmt.Sprintf("%s%s@%d,", m.Kind, row(m.Row), m.At))
		}
		all = append(all, strings.TrimSuffix(strings.Join(parts, " "), ","))
	}
	return strings.Join(all, "; ")
}

func TestTimeline(t *testing.T) {
	t.Parallel()
	type ev = history.Event
	const us = 1000
	hold := func(client string, call int64, token uint64, begun, held, until int64) []ev {
		return []ev{
			{At: us * time.Duration(begun), Kind: history.LockBegins, Client: client, Call: call, Name: "a", Depth: 1, Waits: true},
			{At: us * time.Duration(held), Kind: history.LockHeld, Client: client, Call: call, Name: "a", Token: token, Depth: 1, Until: us * time.Duration(until)},
		}
	}
	reads := func(client string, call int64, last uint64, begun, held, until int64) []ev {
		events := hold(client, call, 0, begun, held, until)
		events[0].Reads, events[1].Last = true, last
		return events
	}
	write := func(client, store string, token uint64, begun, ended int64, err string) []ev {
		e := ev{At: us * time.Duration(begun), Kind: history.WriteBegins, Client: client, Call: 900 + begun, Store: store, Name: "a", Token: token}
		done := e
		done.At, done.Kind, done.Err = us*time.Duration(ended), history.WriteEnds, err
		return []ev{e, done}
	}
	at := func(at int64, kind history.Kind, client string, call int64) []ev {
		return []ev{{At: us * time.Duration(at), Kind: kind, Client: client, Call: call, Name: "a"}}
	}
	master := func(at int64, kind history.Kind, offset int64, lost bool) []ev {
		return []ev{{At: us * time.Duration(at), Kind: kind, Master: "m0", Offset: us * time.Duration(offset), Lost: lost}}
	}
	for _, c := range []struct {
		what   string
		events [][]ev
		want   string
	}{
		{"held and given back", [][]ev{hold("c1", 1, 7, 0, 10, 90), at(20, history.UnlockBegins, "c1", 1), at(22, history.UnlockEnds, "c1", 1)},
			"c1: waiting 0-10, holding 10-20, leaving 20-22"},
		{"not obtained", [][]ev{hold("c1", 1, 7, 0, 10, 90)[:1], at(15, history.LockFailed, "c1", 1)}, "c1: waiting 0-15"},
		{"killed", [][]ev{hold("c1", 1, 7, 0, 10, 90), at(20, history.ClientKilled, "c1", 0), at(30, history.ClientStarts, "c1", 0)},
			"c1: waiting 0-10, holding 10-20, dead 20-30"},
		{"told late", [][]ev{hold("c1", 1, 7, 0, 10, 50), at(15, history.ClientStopped, "c1", 0), at(60, history.ClientGoesOn, "c1", 0), at(61, history.Told, "c1", 1)},
			"c1: waiting 0-10, holding 10-50, stopped 15-60, late 50-61, told@61"},
		{"renewed", [][]ev{hold("c1", 1, 7, 0, 10, 50), {{At: 30 * us, Kind: history.Renewed, Client: "c1", Call: 1, Until: 100 * us}}, at(90, history.UnlockBegins, "c1", 1)},
			"c1: waiting 0-10, holding 10-90, leaving 90-90, renewed@30"},
		{"acts after its lease", [][]ev{hold("c1", 1, 7, 0, 10, 50), at(51, history.Told, "c1", 1), write("c1", history.Unguarded, 7, 70, 80, "")},
			"c1: waiting 0-10, holding 10-50, late 50-51, wrong 50-80, told@51, unfenced@80"},
		{"a rival holds it", [][]ev{hold("c1", 1, 7, 0, 10, 50), hold("c2", 2, 8, 0, 55, 99), write("c1", history.RedisGuarded, 7, 60, 70, history.ErrRefused), at(75, history.UnlockBegins, "c1", 1), at(80, history.UnlockBegins, "c2", 2)},
			"c1: waiting 0-10, holding 10-50, late 50-75, wrong 50-75 c2, leaving 75-80, refused@70; c2: waiting 0-55, holding 55-80, leaving 80-80"},
		{"no rival: handed over", [][]ev{hold("c1", 1, 7, 0, 10, 50), at(20, history.UnlockBegins, "c1", 1), at(21, history.UnlockEnds, "c1", 1), hold("c2", 2, 8, 0, 20, 60)},
			"c1: waiting 0-10, holding 10-20, leaving 20-21; c2: waiting 0-20, holding 20-21"},
		{"re-entered", [][]ev{hold("c1", 1, 7, 0, 10, 90),
			{{At: 12 * us, Kind: history.LockBegins, Client: "c1", Call: 2, Name: "a", Depth: 2}, {At: 13 * us, Kind: history.LockHeld, Client: "c1", Call: 2, Name: "a", Token: 7, Depth: 2, Until: 90 * us}},
			at(20, history.UnlockBegins, "c1", 2), at(20, history.UnlockEnds, "c1", 2), write("c1", history.Unguarded, 7, 30, 31, ""), at(40, history.UnlockBegins, "c1", 1)},
			"c1: waiting 0-10, holding 10-40, waiting/1 12-13, holding/1 13-20, leaving/1 20-20, leaving 40-40, wrote@31"},
		{"readers beside each other", [][]ev{reads("c1", 1, 7, 0, 10, 50), reads("c2", 2, 7, 0, 20, 60), at(30, history.UnlockBegins, "c1", 1), at(40, history.UnlockBegins, "c2", 2)},
			"c1: waiting 0-10, holding 10-30, leaving 30-40; c2: waiting 0-20, holding 20-40, leaving 40-40"},
		{"a writer beside a reader", [][]ev{reads("c1", 1, 7, 0, 10, 50), hold("c2", 2, 8, 0, 20, 60), at(30, history.UnlockBegins, "c1", 1), at(40, history.UnlockBegins, "c2", 2)},
			"c1: waiting 0-10, holding 10-30, wrong 20-30 c2, leaving 30-40; c2: waiting 0-20, holding 20-40, leaving 40-40"},
		{"a reader beside a writer", [][]ev{hold("c1", 1, 7, 0, 10, 50), reads("c2", 2, 7, 0, 20, 60), at(30, history.UnlockBegins, "c1", 1), at(40, history.UnlockBegins, "c2", 2)},
			"c1: waiting 0-10, holding 10-30, wrong 20-30 c2, leaving 30-40; c2: waiting 0-20, holding 20-40, leaving 40-40"},
		{"a reader beside a writer that downgraded", [][]ev{hold("c1", 1, 7, 0, 10, 50), at(20, history.DowngradeBegins, "c1", 1), reads("c2", 2, 7, 0, 20, 60),
			at(30, history.UnlockBegins, "c1", 1), at(40, history.UnlockBegins, "c2", 2)},
			"c1: waiting 0-10, holding 10-30, leaving 30-40; c2: waiting 0-20, holding 20-40, leaving 40-40"},
		{"a reader re-entered beside another hold", [][]ev{reads("c1", 1, 7, 0, 10, 90), reads("c1", 2, 7, 0, 11, 90),
			{{At: 12 * us, Kind: history.LockBegins, Client: "c1", Call: 3, Name: "a", Reads: true, Depth: 2, Of: 1}, {At: 13 * us, Kind: history.LockHeld, Client: "c1", Call: 3, Name: "a", Depth: 2, Until: 90 * us}},
			at(20, history.UnlockBegins, "c1", 1), at(25, history.UnlockBegins, "c1", 2), at(30, history.UnlockBegins, "c1", 3)},
			"c1: waiting 0-10, waiting/1 0-11, holding 10-30, holding/1 11-25, waiting/2 12-13, holding/2 13-30, leaving 20-30, leaving/1 25-30, leaving/2 30-30"},
		{"a master", [][]ev{master(5, history.MasterDown, 0, true), master(9, history.MasterUp, 0, false), master(10, history.MasterFrozen, 0, false), master(11, history.MasterClock, 3, false), master(12, history.MasterThawed, 0, false), master(14, history.MasterClock, 0, false), master(20, history.MasterWiped, 0, false)},
			"m0: down 5-9 lost, frozen 10-12, clock 11-14, wiped@20"},
		{"faults beside each other", [][]ev{
			{{At: 1 * us, Kind: history.FaultBegins, Fault: "x"}, {At: 2 * us, Kind: history.FaultBegins, Fault: "y"}, {At: 4 * us, Kind: history.FaultEnds, Fault: "x"}, {At: 5 * us, Kind: history.FaultBegins, Fault: "z"}, {At: 9 * us, Kind: history.FaultEnds, Fault: "z", Err: "no disk"}}},
			"faults: fault 1-4, fault/1 2-9, fault 5-9 (no disk)"},
	} {
		var events []ev
		for _, some := range c.events {
			events = append(events, some...)
		}
		if got := picture(newTimeline(events).Lanes); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.what, got, c.want)
		}
	}
}

func TestPhases(t *testing.T) {
	t.Parallel()
	line := newTimeline([]history.Event{{Kind: history.PhaseBegins, Phase: history.InModel}, {At: 5000, Kind: history.PhaseBegins, Phase: history.Healed}, {At: 9000, Kind: history.MasterUp, Master: "m0"}})
	if got, want := fmt.Sprint(line.Phases), "[{0 5 in-model} {5 9 healed}]"; got != want || line.End != 9 {
		t.Errorf("%s until %d, want %s", got, line.End, want)
	}
}
