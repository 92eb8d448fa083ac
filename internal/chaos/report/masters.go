package report

import (
	"maps"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// masters is a lane for each master that an event names.
func masters(events []history.Event, end time.Duration) []lane {
	byName := map[string]*masterLane{}
	for _, e := range events {
		if e.Master == "" {
			continue
		}
		m := byName[e.Master]
		if m == nil {
			m = &masterLane{}
			byName[e.Master] = m
		}
		m.take(e)
	}
	var lanes []lane
	for _, name := range slices.SortedFunc(maps.Keys(byName), byNumber) {
		m := byName[name]
		m.endState(end)
		m.endClock(end)
		lanes = append(lanes, lane{Group: masterLanes, Name: name, Rows: 1, Spans: m.spans, Marks: m.marks})
	}
	return lanes
}

// masterLane follows a master through the events: what it does, and beside that what its clock
// does.
type masterLane struct {
	spans []span
	marks []mark
	state *span // nil: up
	clock *span // nil: right
}

func (m *masterLane) take(e history.Event) {
	switch e.Kind {
	case history.MasterUp, history.MasterThawed:
		m.endState(e.At)
	case history.MasterDown:
		m.endState(e.At)
		m.state = &span{Kind: downSpan, From: micros(e.At), Lost: e.Lost}
	case history.MasterFrozen:
		m.endState(e.At)
		m.state = &span{Kind: frozenSpan, From: micros(e.At)}
	case history.MasterClock:
		m.endClock(e.At)
		if e.Offset != 0 {
			m.clock = &span{Kind: clockSpan, From: micros(e.At), Offset: micros(e.Offset)}
		}
	case history.MasterWiped:
		m.marks = append(m.marks, mark{Kind: wipedMark, At: micros(e.At)})
	}
}

func (m *masterLane) endState(at time.Duration) { m.spans = ended(m.spans, &m.state, at) }
func (m *masterLane) endClock(at time.Duration) { m.spans = ended(m.spans, &m.clock, at) }

// ended adds *s to spans as over at at, if there is one.
func ended(spans []span, s **span, at time.Duration) []span {
	if *s == nil {
		return spans
	}
	(*s).To = micros(at)
	spans = append(spans, **s)
	*s = nil
	return spans
}
