package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/chaos/history"
)

// clients is a lane for each client. What a client does at the same time, for several locks or for
// one that it re-enters, comes below each other.
func clients(events []history.Event, end time.Duration) []lane {
	lanes := map[string]*lane{}
	taken := map[string]*rows{}
	for _, e := range events {
		if e.Client != "" && lanes[e.Client] == nil {
			lanes[e.Client] = &lane{Group: clientLanes, Name: e.Client}
			taken[e.Client] = &rows{}
		}
	}
	calls := newCalls(events)
	findWrongBeliefs(calls.all, end)
	for _, c := range calls.all {
		row := taken[c.client].place(micros(c.begun), micros(c.settled(end)))
		l := lanes[c.client]
		l.Spans = append(l.Spans, c.spans(row, end)...)
		l.Marks = append(l.Marks, c.marks(row, end)...)
	}
	for client, uses := range calls.stray {
		for _, u := range uses {
			lanes[client].Marks = append(lanes[client].Marks, u.mark(0, false, end))
		}
	}
	for name, spans := range processes(events, end) {
		lanes[name].Spans = append(lanes[name].Spans, spans...)
	}
	var all []lane
	for _, name := range slices.SortedFunc(maps.Keys(lanes), byNumber) {
		l := lanes[name]
		l.Rows = taken[name].count()
		slices.SortStableFunc(l.Spans, func(a, b span) int { return cmp.Compare(a.From, b.From) })
		slices.SortStableFunc(l.Marks, func(a, b mark) int { return cmp.Compare(a.At, b.At) })
		all = append(all, *l)
	}
	return all
}

// byNumber puts c2 before c10.
func byNumber(a, b string) int {
	digits := func(s string) string { return strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyz -") }
	stem := func(s string) string { return strings.TrimSuffix(s, digits(s)) }
	return cmp.Or(
		cmp.Compare(stem(a), stem(b)),
		cmp.Compare(len(digits(a)), len(digits(b))),
		cmp.Compare(a, b))
}

// spans is what is drawn of a call: waiting, holding, what is believed after the lease, what is
// believed wrongly, and leaving.
func (c *call) spans(row int, end time.Duration) []span {
	var all []span
	add := func(kind spanKind, from, to time.Duration) *span {
		all = append(all, span{Kind: kind, From: micros(from), To: micros(max(from, to)), Row: row, Name: c.name, Token: c.token, Reads: c.reads, Depth: c.depth})
		return &all[len(all)-1]
	}

	gotIt := c.held < never
	wait := add(waitingSpan, c.begun, min(c.held, c.failed, c.died, end))
	wait.Waits = c.waits
	wait.Open = min(c.held, c.failed, c.died) == never
	if !gotIt {
		wait.Err = c.err
		return all
	}

	over, trusts := c.over(end), c.trusts(end)
	hold := add(holdingSpan, c.held, over)
	if until := c.lease(); until < never {
		hold.Until = micros(until)
	}
	hold.Err = cmp.Or(c.toldHow, c.err)
	hold.Open = min(c.told, c.leaves, c.left, c.died) == never
	if over < trusts {
		add(lateSpan, over, trusts).Until = micros(over)
	}
	for _, b := range c.wrong {
		s := add(wrongSpan, b.from, b.to)
		s.Until = hold.Until
		if b.rival != nil {
			s.Rival, s.Newer = b.rival.client, b.rival.token
		}
	}
	if c.leaves < never {
		add(leavingSpan, c.leaves, min(c.left, c.died, end)).Err = c.err
	}
	return all
}

// marks is what happened at moments of a call.
func (c *call) marks(row int, end time.Duration) []mark {
	var all []mark
	for _, r := range c.renewals {
		all = append(all, mark{Kind: renewedMark, At: micros(r.At), Row: row, Name: c.name, Token: c.token, Until: micros(r.Until)})
	}
	if c.told < never {
		all = append(all, mark{Kind: toldMark, At: micros(c.told), Row: row, Name: c.name, Token: c.token, Err: c.toldHow})
	}
	for _, u := range c.uses {
		all = append(all, u.mark(row, c.believesWrongly(u.ended), end))
	}
	return all
}

// mark tells what became of a use.
func (u *use) mark(row int, wrongly bool, end time.Duration) mark {
	e := u.done
	m := mark{At: micros(min(u.ended, end)), From: micros(u.begun), Kind: wroteMark, Row: row,
		Store: e.Store, Name: e.Name, Token: e.Token, Value: e.Value, Err: e.Err}
	switch {
	case e.Kind == history.ReadBegins, e.Kind == history.ReadEnds:
		m.Kind = readMark
	case e.Err == history.ErrRefused:
		m.Kind = refusedMark
	case e.Err != "" || e.Kind == history.WriteBegins:
		m.Kind = unknownMark
	case wrongly && e.Store == history.Unguarded:
		m.Kind = unfencedMark
	}
	return m
}

// processes tells when the process of each client was stopped, or was not there.
func processes(events []history.Event, end time.Duration) map[string][]span {
	all := map[string][]span{}
	now := map[string]*span{} // nil: it runs
	to := func(e history.Event, next *span) {
		s := now[e.Client]
		all[e.Client] = ended(all[e.Client], &s, e.At)
		now[e.Client] = next
	}
	for _, e := range events {
		switch e.Kind {
		case history.ClientStarts, history.ClientGoesOn:
			to(e, nil)
		case history.ClientStopped:
			to(e, &span{Kind: stoppedSpan, From: micros(e.At)})
		case history.ClientKilled:
			to(e, &span{Kind: deadSpan, From: micros(e.At)})
		}
	}
	for client, s := range now {
		all[client] = ended(all[client], &s, end)
	}
	return all
}
