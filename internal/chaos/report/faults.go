package report

import (
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

func phases(events []history.Event, end time.Duration) []phase {
	all := []phase{}
	for _, e := range events {
		if e.Kind != history.PhaseBegins {
			continue
		}
		if n := len(all); n > 0 {
			all[n-1].To = micros(e.At)
		}
		all = append(all, phase{From: micros(e.At), To: micros(end), Name: e.Phase})
	}
	return all
}

// faults is one lane with the faults that were in force at a time below each other; no lane if
// there was none. One that is over at once has two events of the same time. One that could not be
// applied says why.
func faults(events []history.Event, end time.Duration) []lane {
	var spans []span
	open := map[string][]int{} // by name, the first to begin is the first to end
	for _, e := range events {
		switch e.Kind {
		case history.FaultBegins:
			open[e.Fault] = append(open[e.Fault], len(spans))
			spans = append(spans, span{Kind: faultSpan, From: micros(e.At), To: micros(end), Text: e.Fault, Open: true})
		case history.FaultEnds:
			if began := open[e.Fault]; len(began) > 0 {
				s := &spans[began[0]]
				s.To, s.Open, s.Err = micros(e.At), false, e.Err
				open[e.Fault] = began[1:]
			}
		}
	}
	if len(spans) == 0 {
		return nil
	}
	var rows rows
	for i, s := range spans {
		spans[i].Row = rows.place(s.From, s.To)
	}
	return []lane{{Group: faultLanes, Name: "faults", Rows: rows.count(), Spans: spans}}
}
